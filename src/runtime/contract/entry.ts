import { unsafeNumber, unsafeNumberIn } from '../../base/amount.ts'
import { canonical, type Json } from '../../base/canonical.ts'
import { Failure, quote } from '../../base/failure.ts'
import { limits } from '../../base/limits.ts'
import { escapedKey } from '../../base/pointer.ts'
import { formatTime } from '../../base/time.ts'
import { makeBudget, safetyModeOf, type TenantCeilings } from '../../compile/budget.ts'
import type { ReadyPacks } from '../../compile/compile.ts'
import { needsDelegation } from '../../compile/envelope.ts'
import { checkIntent } from '../../compile/intent.ts'
import { parseGrants } from '../../grants/list.ts'
import { mintGrants } from '../../grants/mint.ts'
import { everyKeyOf } from '../../keys/keyring.ts'
import type { PrincipalLink, RunContext } from '../../model/contract/context.ts'
import type { InvokeRequest, TrustedContext } from '../../model/contract/request.ts'
import type { Grant } from '../../model/grant.ts'
import { deepFreeze } from '../../policy/contract.ts'
import { keyScope } from '../../policy/gates/checks.ts'
import { agentToolId } from '../../runs/agents.ts'
import type { Agents } from '../agents/agents.ts'
import { demandName } from '../identity/caller.ts'
import { tenantOf } from '../identity/tenants.ts'
import { rootsFor } from '../loop/authority.ts'
import type { OperationContext } from '../operations/context.ts'
import { endpointsOf, loadPacks } from '../packs/registry.ts'
import { agentNameOf } from '../runs/invoke.ts'
import { type OpenedAttachment, openAttachments } from './attachments.ts'
import { issueClaim, verifyClaim } from './claims.ts'

export interface EntryRequest {
  readonly request: InvokeRequest
  readonly run_context?: TrustedContext | undefined
  readonly profile?: 'strict' | 'page' | undefined
}

/** A request that was let in: everything it names is there, and its context is frozen. */
export interface Entered {
  readonly request: InvokeRequest
  readonly context: RunContext
  readonly ready: ReadyPacks
  readonly attachments: readonly OpenedAttachment[]
  /** The one that trusted code has chosen. */
  readonly planner: string | undefined
}

/** The entry of a request, step by step in the one order: the first thing that is wrong with it answers. A repeat ends at `onMinted`. */
export async function enter(
  by: OperationContext,
  given: EntryRequest,
  { onMinted = async () => undefined }: { readonly onMinted?: () => Promise<void> } = {},
): Promise<Entered> {
  const { ambit, caller } = by
  const { request, run_context: trusted = {}, profile = 'strict' } = given
  demandSize(request)
  demandNumbers(given)
  demandTrace(request)
  demandTenant(request, by)
  demandName(caller)
  if (!caller.rights.includes('mint')) demandOwn(given, by)
  const grants = await mintFor(by, trusted)
  await onMinted()
  const { current } = await by.host()
  demandPlanner(trusted, current().agents)
  const ready = await loadPacks(ambit, caller, request.context_pack_refs, endpointsOf(current().registry))
  const { packs } = ready.packs
  const ceilings: TenantCeilings = ambit.settings.hosting.ceilings
  const safety_mode = safetyModeOf({ trusted, packs, ceilings })
  if (needsDelegation(safety_mode) && request.user.delegation === undefined)
    throw new Failure('delegation.required', `a run of safety mode \`${safety_mode}\` acts for a user who delegates`, {
      pointer: '/user/delegation',
    })
  await demandToken(by, request)
  const run_id = trusted.run_id ?? (profile === 'strict' ? claimedRun(request) : undefined) ?? ambit.ids.next('run')
  const { budget, clamps } = makeBudget({ mode: request.mode, runtime: request.runtime, trusted, packs, ceilings })
  const agent = await agentOf(by, { request, profile, run_id, ttlMs: budget.wall_clock_ms })
  if (request.agent.lifecycle !== undefined && request.agent.lifecycle !== 'active')
    throw new Failure('agent.not_active', 'only an active agent runs', { pointer: '/agent/lifecycle' })
  checkIntent(ready.packs, { request: request.input })
  const attachments = await openAttachments(ambit, caller, request)
  const { claim_state, ...identity } = agent
  const safety_strict = packs.some(({ pack_meta }) => pack_meta.environment_defaults?.safety_strict === true)
  const context: RunContext = {
    ...{ run_id, tenant_id: caller.tenant, trace_id: request.trace.trace_id, intent: request.input.intent },
    ...(request.session_id !== undefined && { session_id: request.session_id }),
    ...(request.input.locale !== undefined && { locale: request.input.locale }),
    ...{ user: request.user, agent: identity, safety_mode, run_budget: budget },
    metadata: {
      ambit: {
        ...{ grants: [...grants], ceilings: {}, profile, claim_state, safety_strict, clamps: [...clamps] },
        ...{ root_run_id: run_id, depth: 0, minted_at: formatTime(ambit.clock.now()) },
      },
    },
  }
  return { request, context: deepFreeze(context), ready, attachments, planner: trusted.planner }
}

function demandPlanner({ planner = 'playbook' }: TrustedContext, { plannerOf }: Agents): void {
  if (planner === 'playbook' || plannerOf(planner) !== undefined) return
  const help =
    planner === 'model' ? 'name a model `default` under `models`' : 'name one of `planners` in the configuration'
  const pointer = '/run_context/planner'
  throw new Failure('field.invalid', `there is no planner ${quote(planner)}`, { pointer }, help)
}

/** Without the right to mint a caller speaks for itself alone, sets no context, and reads no conversation. */
function demandOwn({ request, run_context }: EntryRequest, { caller }: OperationContext): void {
  if (run_context !== undefined)
    throw new Failure('grant.not_mintable', 'this credential cannot set a run context', { pointer: '/run_context' })
  const help = 'use a key of a principal with the role `grantor`'
  const refuse = (message: string, pointer: string): never => {
    throw new Failure('caller.not_permitted', message, { pointer }, help)
  }
  const { user, agent, session_id } = request
  const { roles = [], id } = caller.subject
  if (user.user_id !== id) refuse('this credential speaks for its own user alone', '/user/user_id')
  if (session_id !== undefined) refuse('this credential names no session', '/session_id')
  // Rules and permissions read these: what nobody vouches for would be a right that a caller gives itself.
  const said = Object.keys(user).find((name) => !['user_id', 'role', 'delegation'].includes(name))
  if (said !== undefined) refuse('this credential says nothing of its user', `/user/${escapedKey(said)}`)
  if (user.role !== undefined && !roles.includes(user.role)) refuse('this credential has no such role', '/user/role')
  if (agent.role !== undefined && !roles.includes(agent.role)) refuse('this credential has no such role', '/agent/role')
  if ((agent.principal_chain?.length ?? 2) !== 2)
    refuse('this credential acts for nobody else', '/agent/principal_chain')
}

function demandNumbers({ request, run_context }: EntryRequest): void {
  const pointer = unsafeNumberIn(request) ?? unsafeNumberIn(run_context, '/run_context')
  if (pointer !== undefined) throw unsafeNumber(pointer)
}

/** A token is a handle to a secret of the tenant, and is named by trusted code. */
async function demandToken({ ambit, caller }: OperationContext, { user }: InvokeRequest): Promise<void> {
  const ref = user.delegation?.token_ref
  if (ref === undefined) return
  const name = ref.replace(/^secret:/, '')
  const isKnown =
    caller.rights.includes('mint') && (await ambit.secrets.list(caller.tenant)).some((secret) => secret.name === name)
  if (!isKnown)
    throw new Failure('delegation.invalid', 'the delegation names no token that this caller may use', {
      pointer: '/user/delegation/token_ref',
    })
}

function demandSize(request: InvokeRequest): void {
  const most = Math.min(request.runtime.max_payload_bytes ?? limits.jsonBytesMax, limits.jsonBytesMax)
  const bytes = Buffer.byteLength(canonical(request as unknown as Json))
  if (bytes <= most) return
  const help = 'put large content under the tenant with `ambit artifact add`, and name it in `attachments`'
  throw new Failure('payload.too_large', `the request has ${bytes} bytes of ${most}`, { bytes, limit: most }, help)
}

function demandTrace({
  trace: { trace_id, span_id, trace_flags, tracestate = '', baggage = '' },
}: InvokeRequest): void {
  const isGood = /^(?!0+$)[0-9a-f]{32}$/.test(trace_id) && /^(?!0+$)[0-9a-f]{16}$/.test(span_id)
  // Both are sent on as headers.
  const areHeaders = /^[\x20-\x7e]*$/.test(tracestate + baggage)
  if (isGood && areHeaders && (trace_flags === undefined || /^[0-9a-f]{2}$/.test(trace_flags))) return
  throw new Failure('trace.invalid', 'the trace is no W3C trace context', { pointer: '/trace' })
}

function demandTenant({ tenant_id }: InvokeRequest, { caller }: OperationContext): void {
  if (tenant_id !== caller.tenant)
    throw new Failure('tenant.mismatch', 'the request names another tenant than its credential', {
      pointer: '/tenant_id',
    })
}

async function mintFor(
  { ambit, caller, served }: OperationContext,
  { context }: TrustedContext,
): Promise<readonly Grant[]> {
  const requests = parseGrants(context)
  const { roots } = await tenantOf(ambit, caller)
  return mintGrants(requests, {
    roots: rootsFor(caller.tenant, roots, served !== true),
    protectedBranches: ambit.settings.hosting.protect,
    mintedBy: `${caller.subject.type ?? 'subject'}:${caller.subject.id}`,
    basis: [`subject:${caller.subject.id}`, `tenant:${caller.tenant}`],
    ids: requests.map(() => ambit.ids.next('gr')),
  })
}

/** A caller may say beforehand which run its claim is for. */
function claimedRun({ agent }: InvokeRequest): string | undefined {
  const id = agent.identity_claim?.run_id
  return typeof id === 'string' && /^run_[0-9a-f]{16}$/.test(id) ? id : undefined
}

interface AgentWish {
  readonly request: InvokeRequest
  readonly profile: 'strict' | 'page'
  readonly run_id: string
  readonly ttlMs: number
}

/** The agent with its chain and a claim that holds: the one it brought, or one of ours. */
async function agentOf({ ambit, caller }: OperationContext, { request, profile, run_id, ttlMs }: AgentWish) {
  const { agent_urn, identity_claim: given, principal_chain, ...named } = request.agent
  if (agent_urn === undefined && profile === 'strict')
    throw new Failure('field.missing', '`/agent/agent_urn` is missing', { pointer: '/agent/agent_urn' })
  const urn = agent_urn ?? `agent:contextos/${slugOf(named.agent_id)}@0.0.0`
  if (keyScope({ capabilityId: agentToolId(agentNameOf(urn).agent_id), scopes: caller.scopes }) !== undefined)
    throw new Failure('caller.not_permitted', 'this key is not for that agent', { pointer: '/agent/agent_urn' })
  const chain: PrincipalLink[] = principal_chain ?? [
    { kind: 'user', id: request.user.user_id, tenant_id: caller.tenant },
    { kind: 'agent', id: urn, tenant_id: caller.tenant },
  ]
  if (chain.at(-1)?.id !== urn || chain[0]?.id !== request.user.user_id)
    throw new Failure('claim.invalid', 'the chain leads from the user to the agent', { reason: 'chain' })
  if (chain.some(({ tenant_id = caller.tenant }) => tenant_id !== caller.tenant))
    throw new Failure('claim.invalid', 'the chain names another tenant', { reason: 'tenant' })
  const { host_id } = await tenantOf(ambit, caller)
  const { session_id } = request
  const facts = { run_id, tenant_id: caller.tenant, agent_urn: urn, chain, session_id, nowMs: ambit.clock.now() }
  const made = { ...named, agent_urn: urn, principal_chain: chain }
  if (given !== undefined && profile === 'strict') {
    const keys = everyKeyOf(await ambit.keyring.publicKeys(host_id))
    return { ...made, identity_claim: verifyClaim(given, { ...facts, keys }), claim_state: 'verified' as const }
  }
  const signer = await ambit.keyring.signer(host_id)
  const scopes: RunContext['agent']['identity_claim']['scopes'] =
    profile === 'page' ? ['tools:read'] : ['tools:read', 'tools:write']
  const identity_claim = issueClaim({ ...facts, signer, issuer: host_id, ttlMs, scopes })
  return { ...made, identity_claim, claim_state: profile === 'page' ? ('unverified' as const) : ('issued' as const) }
}

const slugOf = (id: string): string =>
  id
    .toLowerCase()
    .replace(/[^a-z0-9_-]/g, '-')
    .replace(/^[^a-z]+/, 'a') || 'agent'
