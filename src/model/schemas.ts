import { z } from 'zod'
import type { Json } from '../base/canonical.ts'
import { Failure, quote } from '../base/failure.ts'
import { agentManifest } from './agent.ts'
import { approvalGrant, approvalRequest, approver, vote } from './approval.ts'
import { capabilityDescriptor, capabilityMetadata } from './capability.ts'
import { config } from './config/config.ts'
import { upstream } from './config/upstream.ts'
import { contextContract } from './context.ts'
import { compiledContext, evidenceFact } from './contract/compiled.ts'
import { runContext } from './contract/context.ts'
import * as decision from './contract/decision.ts'
import { contextPack, packCatalog } from './contract/pack.ts'
import { plan, policyDecision, toolCallEnvelope, toolResultEnvelope } from './contract/plan.ts'
import { artifactRecord, packRecord, packReport } from './contract/registry.ts'
import { invokeRequest } from './contract/request.ts'
import { runExport } from './contract/run-export.ts'
import type { Direction, Entry } from './entry.ts'
import * as evidence from './evidence.ts'
import { grant, grantPath } from './grant.ts'
import { apiKey, issuedKey, signingKey } from './identity/key.ts'
import { principal } from './identity/principal.ts'
import { actor, subject } from './identity/subject.ts'
import { tenant } from './identity/tenant.ts'
import * as records from './knowledge/records.ts'
import { resolutionTrace } from './knowledge/trace.ts'
import { policy, policyTest } from './policy.ts'
import { requests } from './requests.ts'
import { runEvent, runRecord } from './run.ts'
import { correlation } from './wire/correlation.ts'
import { callError, denial } from './wire/denial.ts'
import { hostDescriptor, identityDocument } from './wire/host.ts'
import { invocationEnvelope, receivedEnvelope } from './wire/invocation.ts'
import { mandate, mandateRevocation } from './wire/mandate.ts'
import { invocationResult, replayQuery, replayResult } from './wire/result.ts'
import * as statement from './wire/statement.ts'
import { wireShapes } from './wire/wire.ts'

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

/** All that crosses a wire or a disk, described here and not where it is defined. What is not here is not a contract. */
const shapes = {
  actor: ['both', actor, 'Who the caller says is acting.'],
  'agent-manifest': ['in', agentManifest, 'What an agent is, as a file says it.'],
  'api-key': ['disk', apiKey, 'An API key as stored: the hash of its secret, never the secret.', 'API key'],
  'approval-grant': ['both', approvalGrant, "An approver's signed yes to one exact call."],
  'approval-request': ['out', approvalRequest, 'One request for approval: what it asks, and how it stands.'],
  'approval-vote': ['both', vote, "One person's signed yes or no to one exact call."],
  approver: ['disk', approver, 'A registered person whose votes count, with the key that signs them.'],
  'auth-token': ['both', statement.authToken, 'A caller proves who it is to one host for a while.'],
  'call-error': ['both', callError, 'Why a call failed, and what is known about its effect.'],
  'call-record': ['out', evidence.callRecord, 'Who, what, context, rule and result of one call, inside its event.'],
  'capability-descriptor': ['both', capabilityDescriptor, 'One governed action.'],
  'capability-metadata': ['both', capabilityMetadata, 'What we keep in the `metadata` of a descriptor.'],
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
  'run-context': ['out', runContext, 'Who runs, for whom and how far: frozen for the run.'],
  'invoke-request': ['in', invokeRequest, 'One call of `invokeAgent`.'],
  'context-pack': ['both', contextPack, 'What an agent is given: ten layers that describe and narrow.'],
  'pack-catalog': ['both', packCatalog, 'Intents, templates and decision specs that packs share.'],
  'pack-record': ['out', packRecord, 'One version of a pack or catalog, as it was published.'],
  'pack-report': ['out', packReport, 'What is wrong with a pack, each with its place.'],
  'compiled-context': ['out', compiledContext, 'What a run is given, with what was left out and why.'],
  'evidence-fact': ['both', evidenceFact, 'A referenced statement that rules may read.'],
  plan: ['both', plan, 'What a planner proposes to do, step by step.'],
  'tool-call': ['out', toolCallEnvelope, 'One attempt of a step, as it goes to the gateway.'],
  'tool-result': ['out', toolResultEnvelope, 'What the gateway answered to a call of a run.'],
  'policy-decision': ['out', policyDecision, 'What the rules of the packs said of one call.'],
  'verify-verdict': ['out', decision.verifyVerdict, 'Whether a plan may be carried out.'],
  'score-verdict': ['out', decision.scoreVerdict, 'What follows from what a plan came to.'],
  'evaluator-verdict': ['out', decision.evaluatorVerdict, 'What one evaluator says of a run.'],
  'decision-record': ['out', decision.decisionRecord, 'How a run decided, and by what.'],
  'run-export': ['out', runExport, 'What a run leaves behind, in one file that verifies offline.'],
  'run-checkpoint': ['out', decision.runCheckpoint, 'What it takes to go on with a run.'],
  'memory-proposal': ['both', decision.memoryProposal, 'A change of memory that waits for its decision.'],
  'replay-packet': ['both', decision.replayPacket, 'What is to be decided again, and what is expected of it.'],
  'feedback-record': ['out', decision.feedbackRecord, 'What an operator says of a decision.'],
  artifact: ['out', artifactRecord, 'Bytes of a tenant that requests name as attachments.'],
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
  'replay-query': ['in', replayQuery, 'Asks for the events of one correlation.'],
  'replay-result': ['both', replayResult, 'The events of one correlation in sequence order.'],
  'run-event': ['out', runEvent, 'Something that happened in a run.'],
  'run-record': ['out', runRecord, 'One invocation of an agent: its authority, its status and what it came to.'],
  'signing-key': ['disk', signingKey, "What anyone may read in a host's key file."],
  'store-head-anchor': ['both', statement.storeHeadAnchor, 'A head countersigned by a key outside.'],
  subject: ['both', subject, 'Who authenticated, bound by the host.'],
  'task-bundle': ['both', statement.taskBundle, 'The bundles of all hosts that took part in one task.'],
  tenant: ['disk', tenant, 'A tenant: its own logical host, with its namespace roots.'],
  ...wireShapes,
  ...requests,
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
