// One process of a test of runs: `node kill-child.ts <world as JSON> <task>`. Says `ready`, waits for a line of JSON, does
// its task and says what came of it.
//   run      starts the run that it is told, and ends itself, as a power cut would, at the point that it is told, or
//            stands still there; at its end it says all points that it came by
//   decide   asks for the decisions that it is told again, and waits for their ends
//   recover  asks for the runs that it is told again, as a program does that heard of no end, and waits for their ends

import { once } from 'node:events'
import { writeSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { createAmbit } from '../../src/library/create-ambit.ts'
import { tenantId } from '../../src/model/identity/tenant-id.ts'
import { invokeAgent } from '../../src/runtime/contract/invoke.ts'
import { openConfiguredHosts } from '../../src/runtime/hosting/configured-host.ts'
import { authenticate } from '../../src/runtime/identity/api-keys.ts'
import { callerOf } from '../../src/runtime/identity/caller.ts'
import { openWith, type Runtime } from '../../src/runtime/runtime.ts'
import { settingsFrom } from '../../src/runtime/settings/config.ts'
import { invocationOf, type KillWorld, killConfig, points, requestOf } from './kill-config.ts'

export interface ToRun {
  readonly about: string
  /** The time that stands still for this process. */
  readonly nowMs: number
  /** The number of the point at which the process ends itself. */
  readonly dieAt: number | null
  /** Instead it says that it is there, and stands still until it is told to go on. */
  readonly stops?: boolean
  /** It asks context packs, not an agent. */
  readonly invokes?: boolean
}

const [, , json = '', task = ''] = process.argv
const world = JSON.parse(json) as KillWorld
const say = (value: unknown): number => writeSync(1, `${JSON.stringify(value)}\n`)
const told = createInterface({ input: process.stdin })
say('ready')
const [line] = await once(told, 'line')
if (task === 'run') await run(JSON.parse(String(line)) as ToRun)
if (task === 'recover') await recover(JSON.parse(String(line)) as readonly string[])
if (task === 'decide') await decide(JSON.parse(String(line)) as readonly string[])
told.close()

async function run({ about, nowMs, dieAt, stops = false, invokes = false }: ToRun): Promise<void> {
  const runtime = await openWith(settingsFrom(killConfig(world), { folder: world.folder, env: {} }), {
    now: () => nowMs,
  })
  const seen: string[] = []
  const dies = (point: string): boolean => {
    if (seen.push(point) !== dieAt) return false
    if (stops) say([point])
    process.kill(process.pid, stops ? 'SIGSTOP' : 'SIGKILL')
    return !stops
  }
  const hosts = await openConfiguredHosts(withPoints(runtime, dies), tenantId('local'), () => undefined)
  const caller = await authenticate(runtime, world.secret)
  // The signal needs a moment: nothing may happen in it.
  points.at = (point) => (dies(point) ? new Promise(() => undefined) : undefined)
  if (invokes) {
    const context = { ambit: runtime, caller, by: callerOf(caller), host: async () => hosts.home }
    await invokeAgent(context, invocationOf(about))
  } else {
    const { input, options } = requestOf(about)
    const { run_id } = await hosts.home.runs.start(caller, { agent: 'desk', input, ...options })
    await hosts.home.runs.follow(run_id)
  }
  say(seen)
  await hosts.close()
  await runtime.close()
}

/** The store, with a place to end before, in and after everything that is written of a run. */
function withPoints(runtime: Runtime, dies: (point: string) => boolean): Runtime {
  const { store } = runtime
  const commit: typeof store.commit = async (tenant, { seal, ...commit }) => {
    const what = commit.events.map(({ event_type, capability_id }) => `${event_type} of ${capability_id}`).join(', ')
    await points.at(`before ${what}`)
    const written = await store.commit(tenant, {
      ...commit,
      seal: (drafts, position) => {
        // Nothing can be awaited inside the transaction.
        if (dies(`in ${what}`)) for (;;);
        return seal(drafts, position)
      },
    })
    await points.at(`after ${what}`)
    return written
  }
  return { ...runtime, store: { ...store, commit } }
}

async function recover(runs: readonly string[]): Promise<void> {
  const ambit = await createAmbit({ folder: join(world.folder, '.ambit'), ...killConfig(world) })
  const gran = await ambit.withKey(world.secret)
  const end = async (about: string): Promise<string> => {
    const { input, options } = requestOf(about)
    return (await (await gran.run('desk', input, options)).result()).run_id
  }
  say(await Promise.all(runs.map(end)))
  await ambit.close()
}

async function decide(abouts: readonly string[]): Promise<void> {
  const ambit = await createAmbit({ folder: join(world.folder, '.ambit'), ...killConfig(world) })
  const gran = await ambit.withKey(world.secret)
  const end = async (about: string): Promise<string> => {
    const { request, run_context } = invocationOf(about)
    const { run_id } = await gran.invokeAgent(request, { run_context })
    for await (const { type } of gran.runs.events(run_id)) if (type === 'run.finished') break
    return run_id
  }
  say(await Promise.all(abouts.map(end)))
  await ambit.close()
}
