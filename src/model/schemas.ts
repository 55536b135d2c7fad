import { z } from 'zod'
import type { Json } from '../base/canonical.ts'
import { Failure, quote } from '../base/failure.ts'
import { approvalGrant, approvalRequest, approver, vote } from './approval.ts'
import { capabilityDescriptor, capabilityMetadata } from './capability.ts'
import { config } from './config.ts'
import { contextContract } from './context.ts'
import { correlation } from './correlation.ts'
import { callError, denial } from './denial.ts'
import {
  callRecord,
  checkpoint,
  evidenceBundle,
  evidenceEvent,
  foreignBundle,
  foreignEvent,
  hostIdentity,
  keyRotation,
} from './evidence.ts'
import { grant, grantPath } from './grant.ts'
import { hostDescriptor, identityDocument } from './host.ts'
import { invocationEnvelope, receivedEnvelope } from './invocation.ts'
import { apiKey, issuedKey, signingKey } from './key.ts'
import {
  answerSuite,
  compileRun,
  contextResolution,
  selectionResult,
  selectionSuite,
  sourceMap,
} from './knowledge-records.ts'
import { resolutionTrace } from './knowledge-trace.ts'
import { mandate, mandateRevocation } from './mandate.ts'
import { policy } from './policy.ts'
import { policyTest } from './policy-test.ts'
import { principal } from './principal.ts'
import { problem } from './problem.ts'
import { invocationResult, replayQuery, replayResult } from './result.ts'
import {
  adapterProvenance,
  authToken,
  chainWitness,
  dsseEnvelope,
  headConsistency,
  headInclusion,
  monitorReport,
  storeHeadAnchor,
  taskBundle,
} from './statement.ts'
import { actor, subject } from './subject.ts'
import { tenant } from './tenant.ts'
import { upstream } from './upstream.ts'
import {
  anchorList,
  anchorReceipt,
  approvalDecision,
  approvalList,
  callPreview,
  capabilityList,
  chainReport,
  health,
  revocationList,
  revocationReceipt,
  storeHead,
  wireError,
  witnessList,
  witnessReceipt,
} from './wire.ts'

/** Who writes a shape for whom: `in` others for us, `out` we for others, `both`, `disk` we for ourselves. */
export type Direction = 'in' | 'out' | 'both' | 'disk'

export interface Contract {
  readonly schema: z.ZodType
  readonly title: string
  readonly description: string
  readonly direction: Direction
}

export type JsonSchema = { readonly [key: string]: Json }

/** A shape of the registry as JSON Schema, draft 2020-12. It accepts exactly what the Zod schema accepts. */
export function jsonSchemaOf(name: string): JsonSchema {
  const contract = Object.hasOwn(contracts, name) ? contracts[name] : undefined
  if (contract === undefined) throw new Failure('schema.not_found', `schema ${quote(name)} not found`, { name })
  const { schema, title, description } = contract
  const { $schema, ...body } = z.toJSONSchema(schema, { target: 'draft-2020-12', io: 'input' })
  return JSON.parse(JSON.stringify({ $schema, $id: `urn:ambit:schema:${name}`, title, description, ...body }))
}

/** Every shape there is, by name. */
export const listSchemas = (): readonly (Omit<Contract, 'schema'> & { readonly name: string })[] =>
  Object.entries(contracts)
    .map(([name, { title, description, direction }]) => ({ name, title, description, direction }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))

const of = (direction: Direction, schema: z.ZodType, title: string, description: string): Contract => ({
  schema,
  title,
  description,
  direction,
})

/** All that crosses a wire or a disk. A shape that is not here is not a contract. */
export const contracts: Readonly<Record<string, Contract>> = {
  actor: of('both', actor, 'Actor', 'Who the caller says is acting.'),
  'adapter-provenance': of('in', adapterProvenance, 'Adapter provenance', 'A publisher names the file of its package.'),
  'anchor-list': of('out', anchorList, 'Anchor list', 'Heads of this host that were countersigned outside.'),
  'anchor-receipt': of('out', anchorReceipt, 'Anchor receipt', 'An anchor was verified and kept.'),
  'api-key': of('disk', apiKey, 'API key', 'An API key as stored: the hash of its secret, never the secret.'),
  'approval-decision': of('in', approvalDecision, 'Approval decision', 'What one person says to one request.'),
  'approval-grant': of('both', approvalGrant, 'Approval grant', "An approver's signed yes to one exact call."),
  'approval-list': of('out', approvalList, 'Approval list', 'One page of the queue of approval requests.'),
  'approval-request': of('out', approvalRequest, 'Approval request', 'The one row of an approval.'),
  'approval-vote': of('both', vote, 'Approval vote', "One person's signed yes or no to one exact call."),
  approver: of('disk', approver, 'Approver', 'A registered person whose votes count, with the key that signs them.'),
  'auth-token': of('both', authToken, 'Auth token', 'A caller proves who it is to one host for a while.'),
  'call-error': of('both', callError, 'Call error', 'Why a call failed, and what is known about its effect.'),
  'call-preview': of('out', callPreview, 'Call preview', 'What would be decided about a call now.'),
  'call-record': of(
    'out',
    callRecord,
    'Call record',
    'Who, what, context, rule and result of one call, inside its event.',
  ),
  'capability-descriptor': of('both', capabilityDescriptor, 'Capability descriptor', 'One governed action.'),
  'capability-list': of('out', capabilityList, 'Capability list', 'What a caller may call.'),
  'capability-metadata': of(
    'both',
    capabilityMetadata,
    'Capability metadata',
    'What we keep in the `metadata` of a descriptor.',
  ),
  'chain-report': of('out', chainReport, 'Chain report', 'Whether the chain of one correlation holds.'),
  'chain-witness': of('both', chainWitness, 'Chain witness', 'Another host has seen this head of a store.'),
  checkpoint: of('both', checkpoint, 'Checkpoint', 'A signed head of the log of all events of a host.'),
  config: of('in', config, 'Configuration', 'What `ambit.config.ts` or `ambit.config.json` may say.'),
  'context-contract': of(
    'both',
    contextContract,
    'Context contract',
    'The facts a call must bring, with their sources.',
  ),
  correlation: of('both', correlation, 'Correlation', 'The thread that joins the calls of one task.'),
  denial: of('both', denial, 'Denial', 'Why a call was refused.'),
  'dsse-envelope': of('both', dsseEnvelope, 'DSSE envelope', 'A signed envelope around an in-toto statement.'),
  'evidence-bundle': of('out', evidenceBundle, 'Evidence bundle', 'The export of one correlation as we write it.'),
  'evidence-bundle-received': of('in', foreignBundle, 'Evidence bundle, received', 'A bundle of any host.'),
  'evidence-event': of('out', evidenceEvent, 'Evidence event', 'A link of the chain as we write it.'),
  'evidence-event-received': of('in', foreignEvent, 'Evidence event, received', 'An event of any host.'),
  grant: of('both', grant, 'Grant', 'A namespace path a run may touch, and where the right came from.'),
  'grant-path': of('both', grantPath, 'Grant path', 'A namespace path: the node named and all below it.'),
  health: of('out', health, 'Health', 'That a host is there, and which.'),
  'host-descriptor': of('both', hostDescriptor, 'Host descriptor', 'The manifest of a host.'),
  'host-identity': of('both', hostIdentity, 'Host identity', "A host's own claim to a key, signed with it."),
  'identity-document': of('both', identityDocument, 'Identity document', 'What a host publishes about its keys.'),
  'invocation-envelope': of('out', invocationEnvelope, 'Invocation envelope', 'One call as we send it, complete.'),
  'invocation-envelope-received': of(
    'in',
    receivedEnvelope,
    'Invocation envelope, received',
    'One call as it arrives.',
  ),
  'invocation-result': of('both', invocationResult, 'Invocation result', 'What a call came to.'),
  'issued-key': of('out', issuedKey, 'Issued key', 'An API key as shown once, with its secret.'),
  'key-rotation': of('both', keyRotation, 'Key rotation', 'The old key names the new one.'),
  mandate: of('both', mandate, 'Mandate', 'A signed, expiring, scoped delegation to a named delegate.'),
  'mandate-revocation': of('both', mandateRevocation, 'Mandate revocation', 'A principal takes a mandate back.'),
  policy: of('in', policy, 'Policy', 'A named, versioned list of rules for some capabilities.'),
  'context-resolution': of(
    'out',
    contextResolution,
    'Context resolution',
    'What was selected from knowledge packs for one query.',
  ),
  'compile-run': of('in', compileRun, 'Compile run', 'How the derived files of a knowledge pack were made.'),
  'source-map': of('both', sourceMap, 'Source map', 'Which claim of a knowledge pack comes from which source.'),
  'selection-suite': of(
    'both',
    selectionSuite,
    'Selection suite',
    'Prompts that should select a knowledge pack, or should not.',
  ),
  'selection-result': of('out', selectionResult, 'Selection result', 'How a selection suite of a knowledge pack went.'),
  'answer-suite': of('in', answerSuite, 'Answer suite', 'Which context a good answer from a knowledge pack needs.'),
  'resolution-trace': of(
    'disk',
    resolutionTrace,
    'Resolution trace',
    'The fuller account of one selection from knowledge packs.',
  ),
  upstream: of(
    'both',
    upstream,
    'Upstream',
    'Something that exists already and is put behind the gateway, and what of it is offered.',
  ),
  'policy-test': of('in', policyTest, 'Policy test', 'Policies, and the decisions that they must come to.'),
  principal: of('disk', principal, 'Principal', 'A person, service or agent of a tenant.'),
  problem: of('out', problem, 'Problem', 'The body of every error answer of ours.'),
  'replay-query': of('in', replayQuery, 'Replay query', 'Asks for the events of one correlation.'),
  'replay-result': of('both', replayResult, 'Replay result', 'The events of one correlation in sequence order.'),
  'revocation-list': of('out', revocationList, 'Revocation list', 'What is not to be believed any more.'),
  'revocation-receipt': of('out', revocationReceipt, 'Revocation receipt', 'A revocation was verified and kept.'),
  'signing-key': of('disk', signingKey, 'Signing key', "What anyone may read in a host's key file."),
  'store-head': of('out', storeHead, 'Store head', 'One digest over the newest event of every correlation.'),
  'store-head-anchor': of('both', storeHeadAnchor, 'Store head anchor', 'A head countersigned by a key outside.'),
  'store-head-consistency': of(
    'both',
    headConsistency,
    'Store head consistency',
    'A later head only added to an earlier.',
  ),
  'store-head-inclusion': of('both', headInclusion, 'Store head inclusion', 'One correlation stands under a head.'),
  'store-head-monitor-report': of(
    'in',
    monitorReport,
    'Store head monitor report',
    'A live store against its anchors.',
  ),
  subject: of('both', subject, 'Subject', 'Who authenticated, bound by the host.'),
  'task-bundle': of('both', taskBundle, 'Task bundle', 'The bundles of all hosts that took part in one task.'),
  tenant: of('disk', tenant, 'Tenant', 'A tenant: its own logical host, with its namespace roots.'),
  'wire-error': of('out', wireError, 'Wire error', 'What never became an invocation, and why.'),
  'witness-list': of('out', witnessList, 'Witness list', 'What witnesses have said of this host.'),
  'witness-receipt': of('out', witnessReceipt, 'Witness receipt', "A witness's statement was verified and kept."),
}
