// The program of a finished site comes in two files (`xtask/src/split.rs`): what the first picture
// needs, and the rest. A program in one file has no `restIsHere`, and nothing to load.
const address = new URL("__REST__?v=__BUILD__", import.meta.url);

function isWhole(program) {
  return !program.restIsHere || program.restIsHere.value === 1;
}

function join(program, rest) {
  if (!isWhole(program)) {
    new WebAssembly.Instance(rest, { first: program });
    program.restIsHere.value = 1;
  }
}

// The program needs the rest now: the page waits for it.
export function loadRest(program) {
  if (isWhole(program)) {
    return;
  }
  try {
    const request = new XMLHttpRequest();
    request.open("GET", address.href, false);
    // As text in which each byte is a letter: bytes may not be asked for in a request that waits.
    request.overrideMimeType("text/plain; charset=x-user-defined");
    request.send();
    if (request.status !== 200) {
      throw new Error(`${address.href}: ${request.status}`);
    }
    const bytes = Uint8Array.from(request.responseText, (letter) => letter.charCodeAt(0) & 255);
    join(program, new WebAssembly.Module(bytes));
  } catch (error) {
    globalThis.terrariumBoot?.failed(error);
    throw error;
  }
}

// The program will need the rest soon. Should it fail to come, `loadRest` asks once more.
export async function fetchRest(program) {
  for (let tries = 1; !isWhole(program) && tries <= 5; tries += 1) {
    try {
      join(program, await WebAssembly.compileStreaming(fetch(address)));
    } catch {
      await new Promise((again) => setTimeout(again, 1000 * tries));
    }
  }
}
