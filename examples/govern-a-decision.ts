// A request that packs govern: it is planned, held for a person, decided, recorded and proved. Run it with
// `npx node examples/govern-a-decision.ts`.

// cut: decide
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { createAmbit, verifyRunExport } from '../src/index.ts'
import config from './write-off/ambit.config.ts'

const scenario = new URL('../scenarios/write-off/', import.meta.url)
const read = (file: string) => parse(readFileSync(new URL(file, scenario), 'utf8'))

const ambit = await createAmbit(config)
await ambit.packs.publish((await ambit.packs.sign(read('catalog.yaml'))).document)
const { document } = await ambit.packs.sign(read('pack.yaml'))
await ambit.packs.publish(document, { beside: ['decision-catalog.stock@1.4.0'] })
await ambit.principals.create('cora')
await ambit.approvers.add('cora', { roles: ['controller'] })
const cora = await ambit.withKey((await ambit.keys.create('cora')).secret)

const { request, run_context } = read('request.yaml')
const { run_id, status, waits_for } = await ambit.invokeAgent(request, { run_context })
console.log(status, waits_for.length)
for (const id of waits_for) await cora.approvals.decide(id, 'approve')
for await (const { type, data } of ambit.runs.events(run_id))
  if (type === 'tool.finished') console.log(data['step'], data['tool'], data['status'])
const record = await ambit.decisions.show(run_id)
const [approval] = record.approvals
console.log(record.status, record.ambit.decision?.outcome, 'for', approval?.gate_id, 'by', approval?.approver)

const exported = await ambit.runs.export(run_id)
console.log('valid:', verifyRunExport(exported).valid)
for (const version of exported.records) version.confidence = 1
console.log('after a change, valid:', verifyRunExport(exported).valid)
await ambit.close()
// end
