import { isTextOnly, type UpstreamDeps } from '../../adapters/adapter.ts'
import { discoverTools } from '../../adapters/mcp/discover.ts'
import { type Drift, driftOf } from '../../adapters/mcp/tool-drift.ts'
import { Failure, quote } from '../../base/failure.ts'
import { limits } from '../../base/limits.ts'
import { counted } from '../../base/words.ts'
import { requiresApproval } from '../../gateway/registry.ts'
import type { Approver, Demand } from '../../model/approval.ts'
import type { Upstream } from '../../model/config/upstream.ts'
import { demandOf, ineligible } from '../../policy/quorum.ts'
import { approversInOffice } from '../../storage/tables/identities.ts'
import { agentsOf } from '../agents/agent-files.ts'
import { missingFolders } from '../hosting/config-files.ts'
import { offerSpecOf } from '../hosting/configured-host.ts'
import { unreachable } from '../hosting/import-upstream.ts'
import { makeOffer, type Offer, type OfferSpec } from '../hosting/offer.ts'
import { listed, offeredBy, upstreamDeps } from '../hosting/upstreams.ts'
import type { Runtime } from '../runtime.ts'
import type { Settings } from '../settings/config.ts'
import { attempt, type Finding, fail, ok, warn } from './finding.ts'

/** Whether all that the configuration lists can be hosted. Returns what it offers, with its upstreams. */
export async function* checkOffer(settings: Settings): AsyncGenerator<Finding, OfferSpec | undefined> {
  const { hosting, tenant } = settings
  const notices: string[] = []
  const spec = yield* attempt(
    'hosting',
    () => ({ ...offerSpecOf(hosting), capabilities: offeredBy(hosting, (text) => notices.push(text)) }),
    false,
  )
  if (spec === undefined) return undefined
  for (const text of notices) yield fail('upstreams', text, 'change the file, or take it out of `upstreams`')
  for (const missing of missingFolders(hosting.upstreams))
    yield warn('upstreams', missing, 'correct its name, make it, or take it out of `upstreams`')
  const read = () => {
    const agents = agentsOf(settings, hosting, spec.capabilities)
    for (const agent of agents.all) if (agent.definition.kind === 'llm') agents.modelOf(agent)
    return agents
  }
  const agents = yield* attempt('agents', read, false)
  if (agents === undefined) return spec
  if (agents.all.length > 0) yield ok('agents', counted(agents.all.length, 'agent'))
  if (spec.capabilities.length === 0 && hosting.policies.length === 0) return spec
  const offer = yield* attempt('hosting', () => makeOffer(tenant, { ...spec, agents }), false)
  if (offer === undefined) return spec
  const capabilities = counted(spec.capabilities.length, 'capability', 'capabilities')
  yield ok('hosting', `${capabilities}, ${counted(hosting.policies.length, 'policy', 'policies')}`)
  yield* checkAims(offer, spec)
  for (const { descriptor } of offer.registry.all())
    if (descriptor.policy === undefined && offer.policies.applicable(descriptor.id).policies.length === 0) {
      const help = 'give it a `policy`, or name it in one'
      yield warn('hosting', `no caller may call ${quote(descriptor.id)}: no policy allows it`, help)
    }
  return spec
}

/** A policy whose patterns match nothing decides nothing, and is most often misspelt. */
function* checkAims({ registry, policies }: Offer, { policies: given = [] }: OfferSpec): Generator<Finding> {
  const aimed = registry.all().flatMap(({ descriptor }) => policies.applicable(descriptor.id).policies)
  for (const { name, applies_to } of given)
    if (!aimed.some((policy) => policy.name === name)) {
      const message = `policy ${quote(name)} is about nothing that is offered: ${applies_to.map(quote).join(', ')}`
      yield warn('hosting', message, 'correct its `applies_to`; `ambit capabilities list` shows what there is')
    }
}

/** Whether every secret that a capability needs is set. */
export async function* checkSecrets(ambit: Runtime, spec: OfferSpec | undefined): AsyncGenerator<Finding> {
  const descriptors = spec?.capabilities.map(({ descriptor }) => descriptor) ?? []
  const needed = new Set(descriptors.flatMap(({ metadata }) => Object.keys(metadata?.credentials ?? {})))
  if (needed.size === 0) return
  const missing = needed.difference(new Set((await ambit.secrets.list(ambit.settings.tenant)).map(({ name }) => name)))
  for (const name of missing) {
    const users = descriptors.filter(({ metadata }) => Object.hasOwn(metadata?.credentials ?? {}, name))
    const message = `there is no secret ${quote(name)}, and ${namesOf(users.map(({ id }) => id))} cannot do without`
    yield fail('secrets', message, `run \`ambit secret set ${name}\``)
  }
  if (missing.size === 0) yield ok('secrets', `${counted(needed.size, 'secret')} for capabilities, all there`)
}

/** One of them, and how many there are besides. */
const namesOf = ([first = '', ...more]: readonly string[]): string =>
  more.length === 0 ? `capability ${quote(first)}` : `capability ${quote(first)} and ${more.length} more`

/** Whether enough people are registered for every approval that a policy or a capability may ask for. */
export async function* checkApprovers(ambit: Runtime, spec: OfferSpec | undefined): AsyncGenerator<Finding> {
  const asked = spec === undefined ? [] : askedFor(spec)
  if (asked.length === 0) return
  const known = await ambit.store.read(() => approversInOffice(ambit.settings.tenant))
  const short = asked.filter((each) => countAble(known, each, ambit.clock.now()) < each.quorum)
  for (const { by, roles, approvers, quorum } of short) {
    const who = [...roles, ...approvers].join(', ')
    const wanted = who === '' ? counted(quorum, 'approver') : `${quorum} of ${who}`
    const help = `run \`ambit approver add <principal> --role ${roles[0] ?? '<role>'}\``
    yield warn('approvers', `${by} for ${wanted}, and there are not as many`, help)
  }
  if (short.length === 0) yield ok('approvers', 'enough for every role that policies ask for')
}

/** `by` says who asks, as the beginning of a sentence. */
type Asked = Demand & { readonly by: string }

function askedFor({ policies = [], capabilities }: OfferSpec): readonly Asked[] {
  const byRules = policies.flatMap(({ name, rules }) =>
    rules
      .filter(({ decision }) => decision === 'requires_approval')
      .map(({ id, approval = {} }) => ({ by: `rule ${quote(`${name}/${id}`)} asks`, ...demandOf(approval) })),
  )
  const byItself = capabilities
    .filter(({ descriptor }) => requiresApproval(descriptor))
    .map(({ descriptor }) => descriptor.id)
  const by = `${namesOf(byItself)} ${byItself.length === 1 ? 'asks' : 'ask'}`
  return byItself.length === 0 ? byRules : [...byRules, { by, ...demandOf({}) }]
}

/** How many people could agree today. */
function countAble(known: readonly Approver[], required: Asked, now: number): number {
  const able = known.filter((approver) => ineligible(approver, { required, excluded: [], now }) === undefined)
  return new Set(able.map(({ principal }) => principal)).size
}

/** Whether every upstream answers now: an MCP server lists its tools, an API answers a request without content. */
export async function* checkUpstreams(ambit: Runtime): AsyncGenerator<Finding> {
  const { hosting, tenant } = ambit.settings
  const deps = upstreamDeps(ambit, tenant, hosting, () => undefined)
  const asked = [...listed(hosting, () => undefined)].map(async ({ upstream }) => {
    const asking = attempt('upstreams', () => ask(upstream, deps), false)
    const name = quote(upstream.name)
    const answer = await asking.next()
    if (!answer.done) return { ...answer.value, message: `${name}: ${answer.value.message}` }
    const { changed = [], gone = [] } = answer.value ?? {}
    const held = [...changed, ...gone].map(quote).join(', ')
    const look = `look with \`ambit capabilities drift ${upstream.name}\``
    if (held !== '') return warn('upstreams', `${name} answers; gone, or not what was accepted: ${held}`, look)
    const structure = '; what it says as `structuredContent` is passed on, and stands in no fence'
    return ok('upstreams', `${name} answers${isTextOnly(upstream) ? '' : structure}`)
  })
  for (const finding of asked) yield await finding
}

async function ask(upstream: Upstream, deps: UpstreamDeps): Promise<Omit<Drift, 'added'>> {
  if (upstream.adapter === 'mcp') return driftOf(upstream, (await discoverTools(upstream, deps)).tools)
  const { url } = upstream.server
  const init = { method: 'HEAD', signal: AbortSignal.timeout(limits.mcpConnectMs) }
  const { status } = await deps.egress.fetch(url, init).catch((error) => Promise.reject(unreachable(url, error)))
  if (status >= 500) throw new Failure('host.unreachable', `it answers with the status ${status}`)
  return { changed: [], gone: [] }
}
