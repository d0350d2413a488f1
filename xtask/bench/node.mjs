// `cargo xtask bench`: one simulated hour in node, through the package that pages use.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [folder, scenario] = process.argv.slice(2);
const engine = await import(pathToFileURL(`${folder}/terrarium_web.js`).href);
const program = engine.initSync({ module: readFileSync(`${folder}/terrarium_web_bg.wasm`) });
const sandbox = engine.Sandbox.load(readFileSync(scenario, "utf8"));
const started = performance.now();
sandbox.runUntil(3600);
const seconds = (performance.now() - started) / 1000;
const megabytes = (bytes) => `${(bytes / 1e6).toFixed(0)} MB`;
console.log(
  `an hour of replication in node ${process.version}: ${(seconds * 1000).toFixed(0)} ms, ` +
  `${(3600 / seconds).toFixed(0)} simulated seconds a second, memory ${megabytes(program.memory.buffer.byteLength)}`,
);
