// A client of the TypeScript SDK: lists the tools, calls one, and one that is not there; prints what it got.
// Usage: client.mjs FOLDER http URL TOKEN | client.mjs FOLDER stdio COMMAND [ARGUMENT]...
import { pathToFileURL } from "node:url";

const [folder, kind, first, ...rest] = process.argv.slice(2);
const sdk = (path) => import(pathToFileURL(`${folder}/node_modules/@modelcontextprotocol/sdk/dist/esm/${path}.js`).href);
const { Client } = await sdk("client/index");
const { StdioClientTransport } = await sdk("client/stdio");
const { StreamableHTTPClientTransport } = await sdk("client/streamableHttp");

const transport =
  kind === "stdio"
    ? new StdioClientTransport({ command: first, args: rest, env: process.env, stderr: "ignore" })
    : new StreamableHTTPClientTransport(new URL(first), { requestInit: { headers: { Authorization: `Bearer ${rest[0]}` } } });
const client = new Client({ name: "typescript", version: "1" });
await client.connect(transport);
const { tools } = await client.listTools();
const found = await client.callTool({ name: "propose_action", arguments: { action: { type: "send_reply" } } });
const refused = await client.callTool({ name: "approve", arguments: {} }).then(
  () => null,
  (error) => error.code,
);
if (kind === "http") await transport.terminateSession();
await client.close();
console.log(JSON.stringify({ tools: tools.map((tool) => tool.name), found: found.structuredContent, refused }));
