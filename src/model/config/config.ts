import { z } from 'zod'
import { limits } from '../../base/limits.ts'
import { isObject } from '../../base/object.ts'
import { lifecycle, risk } from '../capability.ts'
import { runBudget, tier } from '../contract/context.ts'
import { policyDecision, publicKey } from '../evidence.ts'
import { grantPath } from '../grant.ts'
import { tenantIdText } from '../identity/tenant.ts'
import { packTrust, rootScope } from '../knowledge/knowledge.ts'
import { policy } from '../policy.ts'
import { capabilityId, capabilityScope, form, line } from '../text.ts'
import { environment } from '../wire/correlation.ts'
import { budget } from './budget.ts'
import { upstream } from './upstream.ts'

const sqliteStore = z.strictObject({
  driver: z.literal('sqlite'),
  path: line.optional(),
  durability: z.enum(['full', 'normal']).optional(),
})

/** The address, or the name of the environment variable that holds it. */
const postgresStore = z.strictObject({
  driver: z.literal('postgres'),
  url: line.optional(),
  urlEnv: line.optional(),
})

/** A call whose payload member matches the regular expression, read without case, is decided by it. */
const blockPattern = z.strictObject({
  capability_id: capabilityId,
  field: line,
  pattern: line,
  decision: policyDecision.optional(),
})

/** What the server takes of all callers and of one, instead of its defaults. */
const serverLimits = z.strictObject({
  bodyBytesMax: z.int().min(1_024).max(limits.jsonBytesMax).optional(),
  bodyMs: z.int().min(100).max(600_000).optional(),
  headersMs: z.int().min(100).max(600_000).optional(),
  connectionsMax: z.int().min(1).max(1_000_000).optional(),
  requestsAtOnceMax: z.int().min(1).max(1_000_000).optional(),
  requestsPerSecondMax: z.int().min(1).max(1_000_000).optional(),
})

/** How capabilities are hosted, as far as JSON can say it: resolvers and the safety evaluator are code. */
const hosting = z.strictObject({
  port: z.int().min(0).max(65_535).optional(),
  hostname: line.optional(),
  limits: serverLimits.optional(),
  maxRisk: risk.optional(),
  allow: z.array(capabilityScope).optional(),
  block: z.array(capabilityScope).optional(),
  patterns: z.array(blockPattern).optional(),
  environment: environment.optional(),
  lifecycles: z.record(capabilityId, lifecycle).optional(),
  strictOutput: z.boolean().optional(),
  mandatePrincipals: z.array(publicKey).optional(),
  witnesses: z.array(publicKey).optional(),
  history: z.enum(['principal', 'correlation']).optional(),
  historyHours: z.number().gt(0).max(8_784).optional(),
  budgets: z.array(budget).max(256).optional(),
})

const knowledgeRoot = z.strictObject({
  /** Names the root in ids of packs; without it the scope. */
  id: form(
    /^[a-z][a-z0-9_-]{0,31}$/u,
    'a name: a small letter, then at most 31 small letters, digits, _ and -',
  ).optional(),
  path: line,
  scope: rootScope.optional(),
  /** The highest trust that a pack of this root can have, whatever it says of itself. */
  ceiling: packTrust.optional(),
  links: z.enum(['none', 'within-root']).optional(),
  /** The namespace path its packs stand at for grants; without it the root of the tenant. */
  at: grantPath.optional(),
})

/** A person lets the untrusted pack in a folder be used, as long as none of its files changes. */
export const packApproval = z.strictObject({ path: line, digest: form(/^[0-9a-f]{64}$/u, 'a SHA-256 in hex') })

const knowledge = z.strictObject({
  roots: z.array(knowledgeRoot).max(64).optional(),
  enable: z.array(line).optional(),
  disable: z.array(line).optional(),
  approve: z.array(packApproval).optional(),
  /** Types of packs beside the standard ones and `custom:<namespace>`. */
  types: z.array(line).optional(),
  /** Names of folders that are not searched, instead of the usual list. */
  ignored: z.array(line).optional(),
})

const price = z.union([
  z.number().min(0).max(1e12),
  form(/^(?:0|[1-9]\d{0,11})(?:\.\d{1,6})?$/u, 'an amount of cents such as `12.5`'),
])

/** A member that is not known is refused: a misspelt setting must not silently be the default. */
export const config = z.strictObject({
  store: z.discriminatedUnion('driver', [sqliteStore, postgresStore]).optional(),
  dataDir: line.optional(),
  keys: z.strictObject({ dir: line.optional(), passphraseEnv: line.optional() }).optional(),
  tenant: tenantIdText.optional(),
  checkpoint: z.strictObject({ everyEvents: z.int().min(1).optional(), everyMs: z.int().min(1).optional() }).optional(),
  /** Correlations whose newest event is older are purged by a running host. */
  retention: z
    .strictObject({
      days: z.int().min(1).max(36_500),
      /** Conversations without a turn for so long are forgotten; kept as long as there is no figure. */
      conversationDays: z.int().min(1).max(36_500).optional(),
    })
    .optional(),
  policies: z.array(z.union([line, policy])).optional(),
  host: hosting.optional(),
  /** What is put behind the gateway: whole, or as the path of a JSON file or of a folder of them. */
  upstreams: z.array(z.union([line, upstream])).optional(),
  /** Where adapters may send requests: an origin, a host, `*.example.com` or a CIDR. Without it every public address, and no other. */
  egress: z.strictObject({ allow: z.array(line).optional() }).optional(),
  /** Manifests of agents, as files or folders of them. */
  agents: z.array(line).optional(),
  /** What models cost, by their ids: cents for a million tokens. */
  prices: z.record(line, z.strictObject({ input: price, output: price })).optional(),
  /** Branches that no grant may touch from above: one below them has at least so many segments more. */
  protect: z
    .array(z.strictObject({ path: grantPath, segmentsBelowMin: z.int().min(1).max(31) }))
    .max(64)
    .optional(),
  /** What no run goes beyond, whatever request and packs say. */
  ceilings: z
    .strictObject({
      safety_mode: tier.optional(),
      run_budget: runBudget.omit({ bucket_tokens: true }).partial().optional(),
    })
    .optional(),
  /** Where knowledge packs lie, and which of them may be used. */
  knowledge: knowledge.optional(),
})

function isPattern(text: string): boolean {
  try {
    return new RegExp(text, 'iu') !== undefined
  } catch {
    return false
  }
}

// One that cannot be read would deny every call: no JSON Schema can say that.
const readablePattern = blockPattern.extend({ pattern: line.refine(isPattern, 'is no regular expression') })

const code = z.custom((value) => typeof value === 'function', 'must be a function')

const capability = z.custom(
  (value) => isObject(value) && isObject(value['descriptor']) && typeof value['handler'] === 'function',
  'must be what `defineCapability` answers',
)

const agent = z.custom(
  (value) => isObject(value) && isObject(value['definition']),
  'must be what `defineAgent` answers, or a path',
)

const provider = z.custom(
  (value) => isObject(value) && typeof value['kind'] === 'string' && isObject(value['tools']),
  'must be what `defineProvider` answers',
)

/** As `config`, with what only code can say and check. */
export const configWithCode = config.extend({
  capabilities: z.array(capability).optional(),
  agents: z.array(z.union([line, agent])).optional(),
  providers: z.array(provider).optional(),
  models: z.record(line, z.unknown()).optional(),
  planners: z.record(line, z.unknown()).optional(),
  host: hosting
    .extend({
      patterns: z.array(readablePattern).optional(),
      resolvers: z.record(z.string(), code).optional(),
      safety: code.optional(),
    })
    .optional(),
})

export type ServerLimits = z.infer<typeof serverLimits>
export type BlockPattern = z.infer<typeof blockPattern>
export type Config = z.infer<typeof config>
