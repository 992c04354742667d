// The `ai` package with three providers; the protocol is that of conversation.py.
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const require = createRequire(`${process.env.CLIENT_FOLDER}/`);
const load = (name) => import(pathToFileURL(require.resolve(name)));
const [wire, how] = process.argv[2].split(' ');
const url = process.env.ADAPTER_URL;
const { generateText, streamText, stepCountIs, tool } = await load('ai');
const { z } = await load('zod');

async function modelOf(name) {
  const settings = { name: 'adapter', baseURL: `${url}/v1`, apiKey: 'none' };
  if (wire === 'messages') return (await load('@ai-sdk/anthropic')).createAnthropic(settings)(name);
  if (wire === 'compatible') {
    return (await load('@ai-sdk/openai-compatible')).createOpenAICompatible(settings)(name);
  }
  const openai = (await load('@ai-sdk/openai')).createOpenAI(settings);
  return wire === 'responses' ? openai.responses(name) : openai.chat(name);
}

async function answer(model, prompt, ran) {
  const add = tool({
    description: 'Add two numbers.',
    inputSchema: z.object({ a: z.number().int(), b: z.number().int() }),
    execute: async ({ a, b }) => {
      ran.push([a, b]);
      return `${a}+${b}=${a + b}`;
    },
  });
  const asked = { model: await modelOf(model), prompt, tools: { add }, stopWhen: stepCountIs(6) };
  if (how !== 'stream') {
    const result = await generateText(asked);
    return result.steps.map((step) => step.text).join('\n');
  }
  let text = '';
  for await (const part of streamText({ ...asked, onError() {} }).fullStream) {
    if (part.type === 'error') throw part.error;
    if (part.type === 'text-delta') text += part.text;
    if (part.type === 'finish-step') text += '\n';
  }
  return text;
}

for await (const line of createInterface({ input: process.stdin })) {
  const { model, prompt } = JSON.parse(line);
  const ran = [];
  let text = '';
  let error = null;
  try {
    text = await answer(model, prompt, ran);
  } catch (failure) {
    error = String(failure?.message ?? failure).slice(0, 500) || 'error';
  }
  console.log(`OUTCOME ${JSON.stringify({ text, ran, error })}`);
}
