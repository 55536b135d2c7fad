/** What `ambit init --format json` writes. */
export const plain = {
  tenant: 'local',
  store: { driver: 'sqlite', durability: 'full' },
  checkpoint: { everyEvents: 1000, everyMs: 60000 },
  upstreams: ['upstreams'],
}

/** What `ambit init` writes: the defaults with a comment each, and one capability with its policy to try them on. */
export const commented = `// Configuration of Ambit. Every member may be left out; a member that is not known is refused, so a misspelt one
// cannot pass unseen.

import { defineCapability, defineConfig, definePolicy } from 'ambit'

// A capability is a piece of work with rules around it. This one is an example: try it, change it, take it out.
//   ambit capabilities show desk.refund
//   ambit call desk.refund --payload '{"order":"A-17","cents":1250}'
const refund = defineCapability(
  {
    id: 'desk.refund',
    version: '1.0.0',
    description: 'Pays money back for an order.',
    // JSON Schema, or a schema of Zod or any other library that speaks Standard Schema.
    input: {
      type: 'object',
      additionalProperties: false,
      required: ['order', 'cents'],
      properties: { order: { type: 'string' }, cents: { type: 'integer', minimum: 1 } },
    },
    // The facts of a call that rules may read. Nothing else of a payload reaches a rule, or the evidence.
    context: {
      name: 'refund_context',
      version: '1.0.0',
      identifies: 'the sum that is paid back',
      fields: {
        cents: { source: 'payload:/cents', schema: { type: 'integer' }, evidence: 'value', read_by: ['refunds'] },
      },
      example: { cents: 1250 },
    },
    // The boundary as people are told it. With \`auth_required: true\` only known callers may call.
    policy: { name: 'refunds', statement: 'A team lead agrees to refunds above 50.00.', may_require: ['approval'] },
    // What it changes in the world: a call that is cut off in the middle is then not simply tried again.
    effects: ['money.move'],
  },
  ({ order, cents }) => ({ receipt: \`R-\${order}\`, cents }),
)

// Rules are data: given here, or as the path of a JSON file. The strictest rule that holds decides; where none allows, the
// answer is no.
const refunds = definePolicy({
  name: 'refunds',
  version: '1',
  applies_to: ['desk.refund'],
  rules: [
    { id: 'small', when: { '<=': [{ var: 'context.cents' }, 5000] }, decision: 'allow' },
    {
      id: 'large',
      when: { '>': [{ var: 'context.cents' }, 5000] },
      decision: 'requires_approval',
      approval: { roles: ['team_lead'], quorum: 1, expires_in_s: 900 },
    },
  ],
})

export default defineConfig({
  // The tenant that commands mean when none is named.
  tenant: 'local',

  // What is hosted, and by which rules.
  capabilities: [refund],
  policies: [refunds],

  // What exists already and is put behind the gateway: files that \`ambit capabilities import\` writes, in this folder.
  upstreams: ['upstreams'],

  // Where requests to those may go. Without it every public address, and nothing on this machine or around it.
  // egress: { allow: ['https://api.example.com', 'http://127.0.0.1:8080'] },

  // Agents that can be run: manifests that \`ambit agent new\` writes, in this folder, and the models they name. A model is
  // any of the AI SDK; prices are cents for a million tokens, by provider and model: a run without one names what is missing.
  // No grant covers a protected branch, or comes too near to it.
  // agents: ['agents'],
  // models: { default: openai('gpt-5') },
  // prices: { 'openai.responses/gpt-5': { input: 125, output: 1000 } },
  // providers: [files({ root: './data' })],
  // protect: [{ path: 'acme', segmentsBelowMin: 1 }],

  // What no run goes beyond, whatever its request and its packs say.
  // ceilings: { safety_mode: 'network', run_budget: { max_tool_calls: 100 } },

  // Where knowledge packs lie. Without it .agents/knowledge and .ambit/knowledge, here and in your home folder.
  // knowledge: { roots: [{ path: 'knowledge', scope: 'organisation' }], disable: ['old-rules'] },

  // How \`ambit host serve\` hosts it.
  host: {
    port: 4770,
    // Beyond this machine only with API keys: see \`ambit key create\`.
    hostname: '127.0.0.1',
    // What is riskier is refused: 'low', 'medium', 'high' or 'critical'.
    maxRisk: 'critical',
    // What one caller and all together may ask of it: see \`ambit schema show config\`.
    // limits: { requestsPerSecondMax: 100, requestsAtOnceMax: 256, bodyBytesMax: 65_536 },
    // allow: ['desk.*'], block: ['desk.refund'], environment: 'prod', strictOutput: true,
  },

  // Where records, identities and everything else are kept.
  //   sqlite    one file, nothing to install
  //   postgres  for several machines: { driver: 'postgres', urlEnv: 'AMBIT_DATABASE_URL' }
  store: {
    driver: 'sqlite',
    // path: '.ambit/ambit.db',
    // 'full': a record is on the disk before it is acknowledged.
    // 'normal': faster; a power cut may lose the newest records, never tear one.
    durability: 'full',
  },

  // The store's file, the signed heads and, unless \`keys.dir\` says otherwise, the keys.
  // dataDir: '.ambit',

  // Signing keys and secrets. With a passphrase in this variable they are encrypted on the disk.
  // keys: { dir: '.ambit/keys', passphraseEnv: 'AMBIT_PASSPHRASE' },

  // How often the head of the log is signed and appended to a file outside the store.
  // A store that was cut or rewritten since its last signed head is refused at start.
  checkpoint: { everyEvents: 1000, everyMs: 60_000 },

  // Tasks whose last record is older than this are removed for good, with all they left; without it nothing ever is.
  // retention: { days: 365, conversationDays: 90 },
})
`
