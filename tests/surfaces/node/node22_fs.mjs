// Node 20's `fs` lacks what the conformance suite imports and no scenario for servers uses.
export * from "node:fs";
export { default } from "node:fs";
export const globSync = () => [];
