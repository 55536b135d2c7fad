import { parse } from 'yaml'
import { defineCapability } from '../src/gateway/capability.ts'
import { createAmbit } from '../src/library/create-ambit.ts'
import type { InvokeRequest } from '../src/model/contract/request.ts'
import { scenario } from '../test/support/contract.ts'
import { type Bench, median } from './measure.ts'

const runs = 1_000
const goalSeconds = 3

/** 1,000 recorded runs of six steps, each given 24 texts, decided again from the store; in memory, one after the other. */
const bench: Bench = async () => {
  const { ambit, ids } = await recorded()
  try {
    const seconds: number[] = []
    for (let round = 0; round < 3; round++) {
      const start = performance.now()
      for (const id of ids) {
        const { status, diffs } = await ambit.replay.run(id)
        if (status !== 'replay_equal') throw new Error(JSON.stringify(diffs[0]))
      }
      seconds.push((performance.now() - start) / 1_000)
    }
    const ours = median(seconds)
    return [
      {
        ...{ name: '1,000 runs of six steps and 24 blocks replayed', unit: 's', ours, peer: goalSeconds },
        ...{ peerName: 'goal', ratio: goalSeconds / ours, goal: `ours < ${goalSeconds}`, met: ours < goalSeconds },
      },
    ]
  } finally {
    await ambit.close()
  }
}
export default bench

const tools = ['adp_stock.lookup', 'adp_count.verify', 'adp_notes.append', 'adp_mail.notify_owner']
const writes = ['adp_notes.append', 'adp_mail.notify_owner', 'adp_ledger.post_write_off', 'adp_ledger.close_period']

async function recorded() {
  const capabilities = [...new Set([...tools, ...writes])].map((id) =>
    defineCapability(
      {
        ...{ id, version: '1.0.0', description: id },
        ...(writes.includes(id) && { effects: [id], risk: id.startsWith('adp_ledger') ? 'critical' : 'low' }),
      },
      () => ({ verified: true }),
    ),
  )
  const rules = [{ id: 'all', when: true, decision: 'allow' as const }]
  const ambit = await createAmbit({
    ...{ tenant: 'tenant_fjordvik', capabilities },
    policies: [{ name: 'host', version: '1', applies_to: ['*'], rules }],
  })
  for (const [name, beside] of [
    ['catalog.yaml', []],
    ['pack.yaml', ['decision-catalog.stock@1.4.0']],
  ] as const) {
    const document = parse(scenario(name))
    if (name === 'catalog.yaml') document.task_templates[0].steps = steps()
    await ambit.packs.publish((await ambit.packs.sign(document)).document, { beside: [...beside] })
  }
  const { request } = parse(scenario('request.yaml')) as { request: InvokeRequest }
  const attachments = await Promise.all(
    Array.from({ length: 22 }, async (_, index) => {
      const content = `${index}: ${'The batch was counted in hall 7 by two people, and the count was signed. '.repeat(6)}`
      const { artifact_id, media_type, sha256 } = await ambit.artifacts.add({ media_type: 'text/plain', content })
      return { artifact_id, media_type, sha256, uri: `store://${artifact_id}` }
    }),
  )
  const ids: string[] = []
  for (let index = 0; index < runs; index++) {
    const context = { ...request.input.context, amount_minor: 1_000 + index, batch_id: `bat_${index}` }
    const asked = { ...request, request_id: `req_${index}`, input: { ...request.input, context }, attachments }
    const { run_id, decision_record } = await ambit.invokeAgent(asked, { run_context: { safety_mode: 'delegated' } })
    if (decision_record?.status !== 'DECIDED') throw new Error(JSON.stringify(decision_record?.ambit.verdicts))
    ids.push(run_id)
  }
  return { ambit, ids }
}

const batch = { batch_id: { $expr: { var: 'request.context.batch_id' } } }

/** Those of the scenario, with three more before the posting. */
function steps(): object[] {
  const { task_templates } = parse(scenario('catalog.yaml')) as { task_templates: { steps: object[] }[] }
  const [first, second, last] = task_templates[0]?.steps ?? []
  const more = ['adp_stock.lookup', 'adp_notes.append', 'adp_mail.notify_owner'].map((tool, index) => ({
    ...{ id: `m${index}`, tool, params: batch, depends_on: ['s2'] },
  }))
  return [first ?? {}, second ?? {}, ...more, { ...last, depends_on: ['m2'] }]
}
