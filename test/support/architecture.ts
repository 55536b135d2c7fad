// The architecture as a table. A folder of `src` may import itself and the folders it lists, nothing else. Every name in
// a list stands above the line that lists it, so a cycle between folders cannot be written down.

interface Folder {
  readonly imports: readonly string[]
  /** Plain data in, plain data out: no waiting, no clock, no chance, nothing outside. */
  readonly pure: boolean
  readonly packages: readonly string[]
  /** Modules of Node, without `node:`. */
  readonly node: readonly string[]
  /** May import what is known only when it runs: a file of the user. */
  readonly loads?: boolean
}

export type Architecture = Readonly<Record<string, Folder>>

// What computes and touches nothing.
const always = ['assert', 'assert/strict', 'crypto']

const pure = (imports: string, packages: readonly string[] = []): Folder => ({
  imports: names(imports),
  pure: true,
  packages,
  node: always,
})

const effect = (imports: string, node: string, packages: readonly string[] = []): Folder => ({
  imports: names(imports),
  pure: false,
  packages,
  node: [...always, ...names(node)],
})

const names = (list: string): string[] => list.split(' ').filter((name) => name !== '')

export const architecture: Architecture = {
  base: pure(''),
  model: pure('base', ['zod']),
  operations: pure('base model', ['zod']),
  fence: pure('base'),
  tokens: pure('base', ['gpt-tokenizer']),
  grants: pure('base model'),
  policy: pure('base model grants', ['ajv']),
  evidence: pure('base model', ['ajv', 'zod']),
  knowledge: pure('base model fence tokens', ['yaml']),
  workspace: pure('base model'),
  compile: pure('base model fence tokens grants policy'),
  runs: pure('base model fence tokens grants policy evidence compile'),
  // One port each, with its drivers behind it.
  files: effect('base', 'fs fs/promises path sqlite timers/promises'),
  keys: effect('base model files', 'path util'),
  storage: effect('base model', 'fs path sqlite', ['pg']),
  gateway: effect('base model fence grants policy evidence storage keys', 'timers/promises'),
  // What stands behind a capability.
  adapters: effect(
    'base model policy evidence keys gateway',
    'child_process dns/promises http https net path stream timers/promises',
    ['@modelcontextprotocol/client'],
  ),
  // What stands behind a grant.
  resources: effect('base model fence tokens grants knowledge files storage gateway', 'path', ['zod']),
  // The one place that calls a model.
  models: effect('base model runs', 'timers/promises'),
  // Where facts, decisions and effects meet.
  runtime: {
    ...effect(
      'base model operations fence tokens grants policy evidence knowledge workspace compile runs files keys storage gateway adapters resources models',
      'events fs fs/promises module os path string_decoder timers/promises url',
      ['@opentelemetry/api'],
    ),
    loads: true,
  },
  // The Capability Host Protocol's own objects and its fixture.
  chp: effect('base model evidence storage gateway runtime', ''),
  // The doors. The library is the one in this process; the client runs in a browser, where there is no Node.
  client: { ...effect('base model operations', ''), node: [] },
  library: effect('base model operations files runtime client', 'path'),
  mcp: effect('base model runtime', 'stream', ['@modelcontextprotocol/server']),
  server: effect('base model operations runtime chp mcp', '', ['hono', '@hono/node-server', '@opentelemetry/api']),
  cli: effect(
    'base model operations fence policy evidence knowledge compile keys runtime chp client server mcp',
    'fs os path process sqlite stream/consumers url util',
    ['commander', '@clack/prompts', 'cli-table3'],
  ),
  // The same door for code that has a framework already.
  bridges: effect('base model gateway', '', ['ai', '@openai/agents', '@langchain/core']),
  testing: effect('base model fence grants evidence runs storage gateway resources models runtime', ''),
}
