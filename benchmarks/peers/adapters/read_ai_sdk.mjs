// @ai-sdk-tool/parser: the protocols behind its middleware. Speaks what protocol.py describes.
//
// A protocol reads one way of writing calls and has to be chosen. With the name of a protocol only
// that one is used; with "any" all four are tried and the first that finds a call is taken.
// Run in the folder whose node_modules holds the package.

import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { join } from "node:path";

const parser = createRequire(join(process.cwd(), "/"))("@ai-sdk-tool/parser");
const PROTOCOLS = ["hermes", "qwen3Coder", "morphXml", "yamlXml"];
const wanted = process.argv[2] ?? "any";
const protocols = (wanted === "any" ? PROTOCOLS : [wanted]).map((name) => parser[`${name}Protocol`]());

console.log = console.error; // only answers may stand on standard output

function read({ text, tools }) {
  const offered = tools.map(({ function: f }) => ({
    type: "function",
    name: f.name,
    description: f.description,
    inputSchema: f.parameters ?? { type: "object", properties: {} },
  }));
  for (const protocol of protocols) {
    const parts = protocol.parseGeneratedText({ text, tools: offered, options: {} });
    const calls = parts.filter(({ type }) => type === "tool-call");
    if (calls.length > 0) {
      return calls.map(({ toolName, input }) => ({ name: toolName, arguments: JSON.parse(input) }));
    }
  }
  return [];
}

for await (const line of createInterface({ input: process.stdin })) {
  const reply = JSON.parse(line);
  let answer;
  try {
    answer = { id: reply.id, calls: read(reply) };
  } catch (error) {
    answer = { id: reply.id, error: `${error.name}: ${error.message}`.slice(0, 300) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
