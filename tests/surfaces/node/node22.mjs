// Gives the conformance suite, and nothing else, the `fs` of Node 22.
import { register } from "node:module";
import { fileURLToPath } from "node:url";

const filled = new URL("./node22_fs.mjs", import.meta.url).href;

export async function resolve(specifier, context, next) {
  const asks = context.parentURL?.includes("/conformance/dist/");
  return specifier === "fs" && asks ? { url: filled, shortCircuit: true } : next(specifier, context);
}

if (process.argv[1] !== fileURLToPath(import.meta.url)) register(import.meta.url);
