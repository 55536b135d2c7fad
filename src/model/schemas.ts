import { z } from 'zod'
import type { Json } from '../base/canonical.ts'
import { Failure, quote } from '../base/failure.ts'
import { approvalGrant, approvalRequest, approver, vote } from './approval.ts'
import { capabilityDescriptor, capabilityMetadata } from './capability.ts'
import { config } from './config/config.ts'
import { upstream } from './config/upstream.ts'
import { contextContract } from './context.ts'
import * as evidence from './evidence.ts'
import { grant, grantPath } from './grant.ts'
import { apiKey, issuedKey, signingKey } from './identity/key.ts'
import { principal } from './identity/principal.ts'
import { actor, subject } from './identity/subject.ts'
import { tenant } from './identity/tenant.ts'
import * as records from './knowledge/records.ts'
import { resolutionTrace } from './knowledge/trace.ts'
import { policy, policyTest } from './policy.ts'
import * as requests from './requests.ts'
import { correlation } from './wire/correlation.ts'
import { callError, denial } from './wire/denial.ts'
import { hostDescriptor, identityDocument } from './wire/host.ts'
import { invocationEnvelope, receivedEnvelope } from './wire/invocation.ts'
import { mandate, mandateRevocation } from './wire/mandate.ts'
import { invocationResult, replayQuery, replayResult } from './wire/result.ts'
import * as statement from './wire/statement.ts'
import * as wire from './wire/wire.ts'
import { problem } from './wire/wire.ts'

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

/** `approval-request` as `Approval request`. */
const titleOf = (name: string): string =>
  name.charAt(0).toUpperCase() + name.slice(1).replace('-received', ', received').replaceAll('-', ' ')

type Entry = readonly [direction: Direction, schema: z.ZodType, description: string, title?: string]

/** All that crosses a wire or a disk, described here and not where it is defined. What is not here is not a contract. */
const shapes = {
  actor: ['both', actor, 'Who the caller says is acting.'],
  'anchor-list': ['out', wire.anchorList, 'Heads of this host that were countersigned outside.'],
  'anchor-receipt': ['out', wire.anchorReceipt, 'An anchor was verified and kept.'],
  'api-key': ['disk', apiKey, 'An API key as stored: the hash of its secret, never the secret.', 'API key'],
  'approval-decision': ['in', wire.approvalDecision, 'What one person says to one request.'],
  'approval-grant': ['both', approvalGrant, "An approver's signed yes to one exact call."],
  'approval-list': ['out', wire.approvalList, 'One page of the queue of approval requests.'],
  'approval-request': ['out', approvalRequest, 'The one row of an approval.'],
  'approval-vote': ['both', vote, "One person's signed yes or no to one exact call."],
  approver: ['disk', approver, 'A registered person whose votes count, with the key that signs them.'],
  'auth-token': ['both', statement.authToken, 'A caller proves who it is to one host for a while.'],
  'call-error': ['both', callError, 'Why a call failed, and what is known about its effect.'],
  'call-preview': ['out', wire.callPreview, 'What would be decided about a call now.'],
  'call-record': ['out', evidence.callRecord, 'Who, what, context, rule and result of one call, inside its event.'],
  'capability-descriptor': ['both', capabilityDescriptor, 'One governed action.'],
  'capability-list': ['out', wire.capabilityList, 'What a caller may call.'],
  'capability-metadata': ['both', capabilityMetadata, 'What we keep in the `metadata` of a descriptor.'],
  'chain-report': ['out', wire.chainReport, 'Whether the chain of one correlation holds.'],
  'chain-witness': ['both', statement.chainWitness, 'Another host has seen this head of a store.'],
  checkpoint: ['both', evidence.checkpoint, 'A signed head of the log of all events of a host.'],
  config: ['in', config, 'What `ambit.config.ts` or `ambit.config.json` may say.', 'Configuration'],
  'context-contract': ['both', contextContract, 'The facts a call must bring, with their sources.'],
  correlation: ['both', correlation, 'The thread that joins the calls of one task.'],
  denial: ['both', denial, 'Why a call was refused.'],
  'dsse-envelope': ['both', statement.dsseEnvelope, 'A signed envelope around an in-toto statement.', 'DSSE envelope'],
  'evidence-bundle': ['out', evidence.evidenceBundle, 'The export of one correlation as we write it.'],
  'evidence-bundle-received': ['in', evidence.foreignBundle, 'A bundle of any host.'],
  'evidence-event': ['out', evidence.evidenceEvent, 'A link of the chain as we write it.'],
  'evidence-event-received': ['in', evidence.foreignEvent, 'An event of any host.'],
  grant: ['both', grant, 'A namespace path a run may touch, and where the right came from.'],
  'grant-path': ['both', grantPath, 'A namespace path: the node named and all below it.'],
  health: ['out', wire.health, 'That a host is there, and which.'],
  'host-descriptor': ['both', hostDescriptor, 'The manifest of a host.'],
  'host-identity': ['both', evidence.hostIdentity, "A host's own claim to a key, signed with it."],
  'identity-document': ['both', identityDocument, 'What a host publishes about its keys.'],
  'invocation-envelope': ['out', invocationEnvelope, 'One call as we send it, complete.'],
  'invocation-envelope-received': ['in', receivedEnvelope, 'One call as it arrives.'],
  'invocation-result': ['both', invocationResult, 'What a call came to.'],
  'issued-key': ['out', issuedKey, 'An API key as shown once, with its secret.'],
  'key-rotation': ['both', evidence.keyRotation, 'The old key names the new one.'],
  mandate: ['both', mandate, 'A signed, expiring, scoped delegation to a named delegate.'],
  'mandate-revocation': ['both', mandateRevocation, 'A principal takes a mandate back.'],
  policy: ['in', policy, 'A named, versioned list of rules for some capabilities.'],
  'context-resolution': ['out', records.contextResolution, 'What was selected from knowledge packs for one query.'],
  'compile-run': ['in', records.compileRun, 'How the derived files of a knowledge pack were made.'],
  'source-map': ['both', records.sourceMap, 'Which claim of a knowledge pack comes from which source.'],
  'selection-suite': ['both', records.selectionSuite, 'Prompts that should select a knowledge pack, or should not.'],
  'selection-result': ['out', records.selectionResult, 'How a selection suite of a knowledge pack went.'],
  'answer-suite': ['in', records.answerSuite, 'Which context a good answer from a knowledge pack needs.'],
  'resolution-trace': ['disk', resolutionTrace, 'The fuller account of one selection from knowledge packs.'],
  upstream: [
    'both',
    upstream,
    'Something that exists already and is put behind the gateway, and what of it is offered.',
  ],
  'policy-test': ['in', policyTest, 'Policies, and the decisions that they must come to.'],
  principal: ['disk', principal, 'A person, service or agent of a tenant.'],
  problem: ['out', problem, 'The body of every error answer of ours.'],
  'replay-query': ['in', replayQuery, 'Asks for the events of one correlation.'],
  'replay-result': ['both', replayResult, 'The events of one correlation in sequence order.'],
  'revocation-list': ['out', wire.revocationList, 'What is not to be believed any more.'],
  'revocation-receipt': ['out', wire.revocationReceipt, 'A revocation was verified and kept.'],
  'signing-key': ['disk', signingKey, "What anyone may read in a host's key file."],
  'store-head': ['out', wire.storeHead, 'One digest over the newest event of every correlation.'],
  'store-head-anchor': ['both', statement.storeHeadAnchor, 'A head countersigned by a key outside.'],
  subject: ['both', subject, 'Who authenticated, bound by the host.'],
  'task-bundle': ['both', statement.taskBundle, 'The bundles of all hosts that took part in one task.'],
  tenant: ['disk', tenant, 'A tenant: its own logical host, with its namespace roots.'],
  'wire-error': ['out', wire.wireError, 'What never became an invocation, and why.'],
  'witness-list': ['out', wire.witnessList, 'What witnesses have said of this host.'],
  'witness-receipt': ['out', wire.witnessReceipt, "A witness's statement was verified and kept."],
  'page-request': ['in', requests.pageRequest, 'Asks for one page of a list.'],
  'no-input': ['in', requests.noInput, 'Takes nothing.'],
  'call-name': ['in', requests.callName, 'Names one call.'],
  'approval-name': ['in', requests.approvalName, 'Names one approval.'],
  'capability-name': ['in', requests.capabilityName, 'Names one capability.'],
  'event-name': ['in', requests.eventName, 'Names one event.'],
  'correlation-name': ['in', requests.correlationName, 'Names one correlation.'],
  'principal-name': ['in', requests.principalName, 'Names one principal.'],
  'key-name': ['in', requests.keyName, 'Names one API key.'],
  'tenant-name': ['in', requests.tenantName, 'Names one tenant.'],
  'approval-query': ['in', requests.approvalQuery, 'Asks for approvals, `pending` ones unless another state is given.'],
  'approval-decision-request': ['in', requests.approvalDecisionRequest, "One person's decision about one approval."],
  'approval-watch': [
    'in',
    requests.approvalWatch,
    'Asks to hear of approvals as they come: from now on, or first of those that wait.',
  ],
  'call-request': ['in', requests.callRequest, 'One call of a capability.'],
  'evidence-query': ['in', requests.evidenceQuery, 'Searches events.'],
  'evidence-list': ['out', requests.evidenceList, 'One page of events, newest first.'],
  'purge-request': [
    'in',
    requests.purgeRequest,
    'Which correlations are purged: one, or all whose newest event is older.',
  ],
  'purge-report': [
    'out',
    requests.purgeReport,
    'What was purged, or would be, and what stays though it is old enough.',
  ],
  'head-list': ['out', requests.headList, 'One page of signed heads of the log, newest first.'],
  'principal-request': ['in', requests.principalRequest, 'Adds a person, service, agent or automation.'],
  'permission-request': ['in', requests.permissionRequest, 'Gives or takes one permission.'],
  'principal-list': ['out', requests.principalList, 'One page of principals.'],
  'key-request': ['in', requests.keyRequest, 'Makes an API key for a principal.'],
  'key-rotation-request': ['in', requests.keyRotationRequest, 'Replaces an API key; the old one works on for `grace`.'],
  'key-list': ['out', requests.keyList, 'One page of API keys, without the hashes of their secrets.'],
  'key-end': ['out', requests.keyEnd, 'That an API key has ended.'],
  'approver-request': [
    'in',
    requests.approverRequest,
    'Lets a person decide about calls that ask for one of these roles.',
  ],
  'approver-list': ['out', requests.approverList, 'One page of approvers.'],
  'approver-end': ['out', requests.approverEnd, 'That an approver decides about nothing any more.'],
  'secret-request': ['in', requests.secretRequest, 'Keeps a secret.'],
  'secret-name': ['in', requests.secretName, 'Names one secret.'],
  'kept-secret': ['out', requests.keptSecret, 'A secret by its handle, never its value.'],
  'secret-list': ['out', requests.secretList, 'The names of secrets.'],
  'secret-end': ['out', requests.secretEnd, 'That a secret is gone.'],
  'tenant-rotation-request': [
    'in',
    requests.tenantRotationRequest,
    'Gives a tenant a new signing key; `revoke` lists the old one as no longer to be believed.',
  ],
  explanation: ['out', requests.explanation, 'Why one call ended as it did, from its record.'],
} satisfies Record<string, Entry>

export type SchemaName = keyof typeof shapes
/** The Zod schema of a shape, by its name. */
export type SchemaOf<Name extends SchemaName> = (typeof shapes)[Name][1]

export const contracts: Readonly<Record<string, Contract>> = Object.fromEntries(
  Object.entries<Entry>(shapes).map(([name, [direction, schema, description, title = titleOf(name)]]) => [
    name,
    { schema, title, description, direction },
  ]),
)

/** The shape of this name, to check values with. */
export const schemaOf = <Name extends SchemaName>(name: Name): SchemaOf<Name> => shapes[name][1]
