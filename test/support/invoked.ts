// A whole Ambit with the write-off packs published, its tools scripted and its people real: what a request comes to.

import { parse } from 'yaml'
import type { Json } from '../../src/base/canonical.ts'
import { defineCapability } from '../../src/gateway/capability.ts'
import { CallEnded } from '../../src/gateway/ended.ts'
import type { InvokeRequest } from '../../src/model/contract/request.ts'
import type { AmbitConfig } from '../../src/runtime/settings/user-config.ts'
import { scenario } from './contract.ts'
import type { ToolScript } from './governed.ts'
import { type GivenRuns, givenRuns, type Place } from './runs.ts'

export type Tools = Readonly<Record<string, readonly ToolScript[]>>

const effects: Readonly<Record<string, readonly string[]>> = {
  'adp_notes.append': ['note.write'],
  'adp_mail.notify_owner': ['mail.send'],
  'adp_ledger.post_write_off': ['ledger.write'],
  'adp_ledger.close_period': ['ledger.write'],
}
const risks: Readonly<Record<string, 'low' | 'medium' | 'critical'>> = {
  'adp_notes.append': 'low',
  'adp_mail.notify_owner': 'medium',
  'adp_ledger.post_write_off': 'critical',
  'adp_ledger.close_period': 'critical',
}
const usual: Readonly<Record<string, Json>> = {
  'adp_stock.lookup': { batch_id: 'bat_5120' },
  'adp_count.verify': { verified: true },
  'adp_ledger.post_write_off': { posting: 'led_1' },
}

const ids = [...Object.keys(effects), 'adp_stock.lookup', 'adp_count.verify']

export interface GivenInvoked extends GivenRuns {
  /** What reached an adapter, by capability. */
  readonly reached: Map<string, number>
  readonly request: (more?: Partial<InvokeRequest>, context?: Readonly<Record<string, Json>>) => InvokeRequest
}

/** The stock keeper's host. A tool answers its script, the last entry again and again. */
export async function givenInvoked(
  tools: Tools = {},
  place: Place = {},
  packs = scenario,
  config: AmbitConfig = {},
): Promise<GivenInvoked> {
  const reached = new Map<string, number>()
  const capabilities = ids.map((id) =>
    defineCapability(
      {
        ...{ id, version: '1.0.0', description: id },
        ...(effects[id] && { effects: effects[id], risk: risks[id] }),
      },
      () => {
        const count = reached.get(id) ?? 0
        reached.set(id, count + 1)
        const script = tools[id] ?? [{ output: usual[id] ?? null }]
        const said = script[Math.min(count, script.length - 1)] ?? {}
        if (said.error === undefined) return said.output ?? null
        throw new CallEnded(said.error, 'the tool did not answer', { effect: 'none', type: 'Scripted' })
      },
    ),
  )
  const rules = [{ id: 'all', when: true, decision: 'allow' as const }]
  const policies = [{ name: 'host', version: '1', applies_to: ['*'], rules }]
  const given = await givenRuns(
    { tenant: 'tenant_fjordvik', capabilities, policies, ...config },
    { roots: ['fjordvik'], ...place },
  )
  const { ambit } = given
  const publish = async (name: string, beside: string[]) =>
    ambit.packs.publish((await ambit.packs.sign(parse(packs(name)))).document, { beside })
  if ((await ambit.packs.list()).packs.length === 0) {
    await publish('catalog.yaml', []).catch(() => undefined)
    await publish('pack.yaml', ['decision-catalog.stock@1.4.0'])
  }
  const { request } = parse(scenario('request.yaml')) as { request: InvokeRequest }
  let count = 0
  return {
    ...{ ...given, reached },
    request: (more = {}, context = {}) => ({
      ...request,
      request_id: `req_${++count}`,
      input: { ...request.input, context: { ...request.input.context, ...context } },
      ...more,
    }),
  }
}
