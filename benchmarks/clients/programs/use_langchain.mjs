// LangChain's ChatOllama for JavaScript, which n8n embeds; the protocol is that of conversation.py.
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const require = createRequire(`${process.env.CLIENT_FOLDER}/`);
const load = (name) => import(pathToFileURL(require.resolve(name)));
const { ChatOllama } = await load('@langchain/ollama');
const { tool } = await load('@langchain/core/tools');
const { HumanMessage, ToolMessage } = await load('@langchain/core/messages');
const { z } = await load('zod');
const ROUNDS = 12;

async function ask(chat, messages) {
  if (process.argv[2] !== 'stream') return chat.invoke(messages);
  let reply = null;
  for await (const piece of await chat.stream(messages)) {
    reply = reply ? reply.concat(piece) : piece;
  }
  return reply;
}

async function answer({ model, prompt, task }, ran) {
  const add = tool(
    async ({ a, b }) => {
      ran.push([a, b]);
      if (a === 13) throw new Error('thirteen is refused');
      return b === 0 ? '' : `${a}+${b}=${a + b}`;
    },
    {
      name: 'add',
      description: 'Add two numbers.',
      schema: z.object({ a: z.number().int(), b: z.number().int() }),
    },
  );
  const bare = new ChatOllama({ model, baseUrl: process.env.ADAPTER_URL });
  const chat = bare.bindTools([add]);
  const messages = [new HumanMessage(prompt)];
  const said = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const reply = await ask(chat, messages);
    said.push(reply.text);
    messages.push(reply);
    if (!reply.tool_calls?.length) break;
    for (const call of reply.tool_calls) {
      const told = { tool_call_id: call.id, name: call.name, status: 'error' };
      messages.push(
        await add.invoke(call).catch((why) => new ToolMessage({ ...told, content: why.message })),
      );
    }
  }
  if (task === 'later') {
    const reply = await ask(bare, [...messages, new HumanMessage('What was it again?')]);
    said.push(reply.text);
  }
  return said.join('\n');
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
