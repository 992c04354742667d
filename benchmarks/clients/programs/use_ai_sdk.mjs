// The `ai` package with five providers; the protocol is that of conversation.py.
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const require = createRequire(`${process.env.CLIENT_FOLDER}/`);
const load = (name) => import(pathToFileURL(require.resolve(name)));
const [wire, how] = process.argv[2].split(' ');
const url = process.env.ADAPTER_URL;
const rounds = 12;
const impatience = 5000; // milliseconds
const picture =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC';
const choices = { required: 'required', named: { type: 'tool', toolName: 'add' }, none: 'none' };
const { generateText, streamText, stepCountIs, tool } = await load('ai');
const { z } = await load('zod');

async function modelOf(name) {
  const settings = { name: 'adapter', baseURL: `${url}/v1`, apiKey: 'none' };
  if (wire === 'messages') return (await load('@ai-sdk/anthropic')).createAnthropic(settings)(name);
  if (wire === 'compatible') {
    return (await load('@ai-sdk/openai-compatible')).createOpenAICompatible(settings)(name);
  }
  if (wire === 'ollama-ai-provider-v2') {
    return (await load(wire)).createOllama({ baseURL: `${url}/api` })(name);
  }
  if (wire === 'ai-sdk-ollama') return (await load(wire)).createOllama({ baseURL: url })(name);
  const openai = (await load('@ai-sdk/openai')).createOpenAI(settings);
  return wire === 'responses' ? openai.responses(name) : openai.chat(name);
}

function addTool(ran) {
  return tool({
    description: 'Add two numbers.',
    inputSchema: z.object({ a: z.number().int(), b: z.number().int() }),
    execute: async ({ a, b }) => {
      ran.push([a, b]);
      if (a === 13) throw new Error('thirteen is refused');
      return b === 0 ? '' : `${a}+${b}=${a + b}`;
    },
    toModelOutput: ({ output, input }) =>
      input?.a === 7 && input?.b === 7
        ? {
            type: 'content',
            value: [
              { type: 'text', text: 'a picture' },
              { type: 'image-data', data: picture, mediaType: 'image/png' },
            ],
          }
        : { type: 'text', value: output },
  });
}

async function ask(asked, task) {
  const chosen = {
    ...(task in choices && {
      prepareStep: ({ stepNumber }) => (stepNumber === 0 ? { toolChoice: choices[task] } : {}),
    }),
    ...(task === 'single' && {
      providerOptions: {
        openai: { parallelToolCalls: false },
        anthropic: { disableParallelToolUse: true },
        adapter: { parallel_tool_calls: false },
      },
    }),
    ...(task === 'impatient' && { timeout: { chunkMs: impatience } }),
  };
  const whole = { ...asked, ...chosen, stopWhen: stepCountIs(rounds) };
  if (how !== 'stream') {
    const result = await generateText(whole);
    return [result.steps.map((step) => step.text).join('\n'), result.response.messages];
  }
  let text = '';
  const result = streamText({ ...whole, onError() {} });
  for await (const part of result.fullStream) {
    if (part.type === 'error') throw part.error;
    if (part.type === 'abort') throw new Error('it gave up');
    if (part.type === 'text-delta') text += part.text;
    if (part.type === 'finish-step') text += '\n';
  }
  return [text, (await result.response).messages];
}

async function answer({ model, prompt, task }, ran) {
  const base = { model: await modelOf(model) };
  const question = { role: 'user', content: prompt };
  const [text, told] = await ask({ ...base, messages: [question], tools: { add: addTool(ran) } }, task);
  if (task !== 'later') return text;
  const again = { role: 'user', content: 'What was it again?' };
  const [more] = await ask({ ...base, messages: [question, ...told, again] }, task);
  return `${text}\n${more}`;
}

for await (const line of createInterface({ input: process.stdin })) {
  const ran = [];
  let text = '';
  let error = null;
  try {
    text = await answer(JSON.parse(line), ran);
  } catch (failure) {
    error = String(failure?.message ?? failure).slice(0, 500) || 'error';
  }
  console.log(`OUTCOME ${JSON.stringify({ text, ran, error })}`);
}
