// One process of a test of the gateway: `node child.ts <world as JSON> <task> <name>`. Says `ready`, waits for a line,
// does its task and says what came of it, one line of JSON for each call.
//   race <n>        calls the ids it is told, many at a time, in an order of its own
//   die <point>     makes one call and ends itself, as a power cut would, at a named point
//   ask             a minute later: finds what others left behind, and ends itself while it asks about it
//   recover <n>     n minutes later: tidies up, and makes the calls it is told again

import { once } from 'node:events'
import { writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { type CallContext, defineCapability } from '../../src/gateway/capability.ts'
import type { EvidenceEvent } from '../../src/model/evidence.ts'
import { openHost } from '../../src/runtime/hosting/host.ts'
import { makeOffer } from '../../src/runtime/hosting/offer.ts'
import { authenticate } from '../../src/runtime/identity/api-keys.ts'
import { callerOf } from '../../src/runtime/identity/caller.ts'
import { openAmbit, type Runtime } from '../../src/runtime/runtime.ts'
import { allPages } from '../../src/storage/page.ts'
import { findEvents } from '../../src/storage/tables/events.ts'
import { tenant, type World } from './world.ts'

const [, , json = '', task = '', name = ''] = process.argv
const world = JSON.parse(json) as World
const say = (value: unknown): number => writeSync(1, `${JSON.stringify(value)}\n`)

function die(): Promise<never> {
  process.kill(process.pid, 'SIGKILL')
  // The signal needs a moment: nothing may happen in it.
  return new Promise(() => undefined)
}
const at = (point: string): unknown => (task === 'die' && name === point ? die() : undefined)
/** The same where nobody can be awaited. */
function stopAt(point: string): void {
  if (task !== 'die' || name !== point) return
  process.kill(process.pid, 'SIGKILL')
  for (;;);
}

const effect = defineCapability(
  {
    id: 'depot.effect',
    version: '1.0.0',
    description: 'Does something in the world outside, and gets a receipt.',
    policy: { auth_required: true },
    effects: ['world.change'],
    idempotency: 'required',
    reconcile: async ({ invocationId }) => {
      if (task === 'ask') return die()
      const done = Number(await (await fetch(`${world.effects}/planner/${invocationId}`)).text())
      return done > 0 ? { effect: 'done', data: { receipt: 'found' } } : { effect: 'none' }
    },
  },
  async (_: unknown, { invocationId, subject }: CallContext) => {
    await at('in the handler, before the effect')
    const answer = await fetch(`${world.effects}/${subject.id}/${invocationId}`, { method: 'POST' })
    const receipt = await answer.text()
    await at('in the handler, after the effect')
    return { receipt }
  },
)

/** The store, with a place to die before, in and after the intent and the outcome. */
function withPoints(ambit: Runtime): Runtime {
  const { store } = ambit
  return {
    ...ambit,
    store: {
      ...store,
      commit: async (of, commit) => {
        const types = commit.events.map(({ event_type }) => event_type)
        const what = types.includes('execution_started') ? 'the intent' : 'the outcome'
        await at(`before ${what} is written`)
        const written = await store.commit(of, {
          ...commit,
          seal: (drafts, position) => {
            stopAt(`while ${what} is written`)
            return commit.seal(drafts, position)
          },
        })
        await at(`after ${what} is written`)
        return written
      },
    },
  }
}

const told = createInterface({ input: process.stdin })
const laterMs = task === 'recover' ? Number(name) * 60_000 : task === 'ask' ? 60_000 : 0
const ambit = await openAmbit({ folder: world.folder, env: {} }, { now: () => Date.now() + laterMs })
const host = await openHost(withPoints(ambit), tenant, (hostId) => makeOffer(hostId, { capabilities: [effect] }), {
  presenceMs: 20_000,
})
const planner = callerOf(await authenticate(ambit, world.secrets[0]))
const rival = callerOf(await authenticate(ambit, world.secrets[1]))
const envelope = (invocation_id: string) => ({
  capability_id: 'depot.effect',
  invocation_id,
  correlation: { correlation_id: `task-${invocation_id}` },
})
const call = async (id: string, by = planner) => (await host.gateway.invoke(by, envelope(id))).result

say('ready')
const [line] = await once(told, 'line')
if (task === 'race') await race(JSON.parse(String(line)) as { ids: string[]; as: 'planner' | 'rival' })
if (task === 'die') say(await call(String(line)))
if (task === 'recover') for (const id of JSON.parse(String(line)) as string[]) say(await recovered(id))
await host.close()
await ambit.close()
told.close()

async function race({ ids, as }: { ids: string[]; as: 'planner' | 'rival' }): Promise<void> {
  const turn = (Number(name) * ids.length) / 4
  const own = [...ids.slice(turn), ...ids.slice(0, turn)]
  const lane = async (): Promise<void> => {
    for (let id = own.shift(); id !== undefined; id = own.shift()) {
      const { outcome, data, replayed } = await call(id, as === 'planner' ? planner : rival)
      say({ id, outcome, data, replayed: replayed === true })
    }
  }
  await Promise.all(Array.from({ length: 16 }, lane))
}

/** How a call ended by its own events, what is answered about it, and what a repeat is. */
async function recovered(id: string) {
  await host.gateway.tidyUp()
  const before = await eventsOf(id)
  const known = await host.gateway.recorded(planner, id)
  const again = await call(id)
  return {
    recorded: before.filter(({ invocation_id }) => invocation_id === id).at(-1)?.event_type ?? 'nothing',
    known: known?.outcome ?? 'nothing',
    again: `${again.outcome}${again.replayed ? ', replayed' : ''}`,
    receipt: (again.data as { receipt?: string } | null)?.receipt,
    events: (await eventsOf(id)).map(({ event_type, invocation_id, correlation, payload }) =>
      invocation_id === id
        ? event_type
        : `${event_type} ${payload['effect' as never]} because of ${correlation.causation_id}`,
    ),
  }
}

async function eventsOf(id: string): Promise<readonly EvidenceEvent[]> {
  const correlation = `task-${id}`
  const found = await ambit.store.read(() => allPages((page) => findEvents(tenant, { correlation }, page)))
  return found.toReversed().map(({ body }) => JSON.parse(body) as EvidenceEvent)
}
