import { counted } from '../../base/counted.ts'
import { quote } from '../../base/failure.ts'
import { requiresApproval } from '../../gateway/registry.ts'
import type { Approver, Demand } from '../../model/approval.ts'
import { demandOf, ineligible } from '../../policy/approval.ts'
import { approversInOffice } from '../../storage/tables/identities.ts'
import { missingFolders, noFolder } from '../hosting/config-files.ts'
import { type Hosting, offerSpecOf } from '../hosting/configured-host.ts'
import { makeOffer, type Offer, type OfferSpec } from '../hosting/offer.ts'
import { type Notice, offeredBy } from '../hosting/upstreams.ts'
import type { Runtime } from '../runtime.ts'
import type { Settings } from '../settings/config.ts'
import { attempt, type Finding, fail, ok, warn } from './finding.ts'

/** Whether all that the configuration lists can be hosted: capabilities register, policies compile and fit them. */
export async function* checkOffer({ hosting, tenant }: Settings): AsyncGenerator<Finding> {
  const notices: string[] = []
  const spec = await attempt('hosting', () => wholeSpec(hosting, (text) => notices.push(text)))
  if ('verdict' in spec) return yield { ...spec, check: 'hosting' }
  for (const text of notices) yield fail('upstreams', text, 'change the file, or take it out of `upstreams`')
  for (const name of missingFolders(hosting.upstreams))
    yield warn('upstreams', noFolder(name), 'correct its name, make it, or take it out of `upstreams`')
  if (spec.capabilities.length === 0 && hosting.policies.length === 0) return
  const offer = await attempt('hosting', () => makeOffer(tenant, spec))
  if ('verdict' in offer) return yield { ...offer, check: 'hosting' }
  yield ok(
    'hosting',
    `${counted(spec.capabilities.length, 'capability', 'capabilities')}, ${counted(hosting.policies.length, 'policy', 'policies')}`,
  )
  yield* checkAims(offer, spec)
  for (const { descriptor } of offer.registry.all())
    if (descriptor.policy === undefined && offer.policies.applicable(descriptor.id).policies.length === 0) {
      const help = 'give it a `policy`, or name it in one'
      yield warn('hosting', `nobody may call ${quote(descriptor.id)}: no policy allows it`, help)
    }
}

/** A policy whose patterns match nothing decides nothing, and is most often misspelt. */
function* checkAims({ registry, policies }: Offer, { policies: given = [] }: OfferSpec): Generator<Finding> {
  const aimed = registry.all().flatMap(({ descriptor }) => policies.applicable(descriptor.id).policies)
  for (const { name, applies_to } of given)
    if (!aimed.some((policy) => policy.name === name))
      yield warn(
        'hosting',
        `policy ${quote(name)} is about nothing that is offered: ${applies_to.map(quote).join(', ')}`,
        'correct its `applies_to`; `ambit capabilities list` shows what there is',
      )
}

/** All that is offered, by functions of the configuration and by its upstreams. */
const wholeSpec = (hosting: Hosting, notice: Notice): OfferSpec => ({
  ...offerSpecOf(hosting),
  capabilities: offeredBy(hosting, notice),
})

/** Whether every secret that a capability is given is there. */
export async function* checkSecrets(ambit: Runtime): AsyncGenerator<Finding> {
  const { hosting, tenant } = ambit.settings
  const spec = await attempt('hosting', () => wholeSpec(hosting, () => undefined))
  const capabilities = 'verdict' in spec ? [] : spec.capabilities
  const needed = Map.groupBy(
    capabilities.flatMap(({ descriptor: { id, metadata } }) =>
      Object.keys(metadata?.credentials ?? {}).map((name) => ({ name, id })),
    ),
    ({ name }) => name,
  )
  if (needed.size === 0) return
  const known = new Set((await ambit.secrets.list(tenant)).map(({ name }) => name))
  const missing = [...needed].filter(([name]) => !known.has(name))
  for (const [name, users] of missing)
    yield fail(
      'secrets',
      `there is no secret ${quote(name)}, and ${namesOf(users.map(({ id }) => id))} cannot do without`,
      `run \`ambit secret set ${name}\``,
    )
  if (missing.length === 0) yield ok('secrets', `${counted(needed.size, 'secret')} for capabilities, all there`)
}

/** One of them, and how many there are besides. */
const namesOf = ([first = '', ...more]: readonly string[]): string =>
  more.length === 0 ? `capability ${quote(first)}` : `capability ${quote(first)} and ${more.length} more`

/** Whether enough people are registered for every approval that a policy or a capability may ask for. */
export async function* checkApprovers(ambit: Runtime): AsyncGenerator<Finding> {
  const { hosting, tenant } = ambit.settings
  const spec = await attempt('hosting', () => wholeSpec(hosting, () => undefined))
  const asked = 'verdict' in spec ? [] : askedFor(spec)
  if (asked.length === 0) return
  const known = await ambit.store.read(() => approversInOffice(tenant))
  const short = asked.filter((each) => able(known, each, ambit.clock.now()).size < each.quorum)
  for (const { by, roles, approvers, quorum } of short) {
    const who = [...roles, ...approvers].join(', ')
    const wanted = who === '' ? counted(quorum, 'approver') : `${quorum} of ${who}`
    const help = `run \`ambit approver add <principal> --role ${roles[0] ?? '<role>'}\``
    yield warn('approvers', `${by} for ${wanted}, and there are not as many`, help)
  }
  if (short.length === 0) yield ok('approvers', 'enough for every role that policies ask for')
}

interface Asked extends Demand {
  /** Who asks, as the beginning of a sentence. */
  readonly by: string
}

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

/** The people who could agree today. */
const able = (known: readonly Approver[], required: Asked, now: number): ReadonlySet<string> =>
  new Set(
    known
      .filter((approver) => ineligible(approver, { required, excluded: [], now }) === undefined)
      .map(({ principal }) => principal),
  )
