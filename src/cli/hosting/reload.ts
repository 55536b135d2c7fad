import { statSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { problem } from '../../base/failure.ts'
import { counted } from '../../base/words.ts'
import { offerFilesOf } from '../../runtime/hosting/configured-host.ts'
import type { Offer } from '../../runtime/hosting/offer.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import { type ConfigSource, loadSettings, type Settings } from '../../runtime/settings/config.ts'
import type { Hosting } from '../../runtime/settings/hosting.ts'
import { type Io, line, plain } from '../terminal/io.ts'

interface Kept {
  readonly ambit: Runtime
  /** The host or hosts of this process. */
  readonly served: { reload(hosting: Hosting): Promise<void>; current(): Offer; underWay(): number }
  readonly source: ConfigSource
}

const pollMs = 300
const patienceMs = 500

/** Offers what the configuration says whenever it changes, until a signal or `stop`. A second signal ends at once. */
export async function keepUp(io: Io, kept: Kept, stop?: AbortSignal): Promise<void> {
  let files = stampsOf(filesOf(kept.ambit.settings))
  let work: Promise<void> = Promise.resolve()
  const reload = () => {
    work = work.then(async () => {
      files = stampsOf([...files.keys()])
      const next = await offered(io, kept)
      if (next !== undefined) files = stampsOf(filesOf(next))
    })
  }
  const timer = setInterval(() => {
    if ([...files].some(([file, stamp]) => stampOf(file) !== stamp)) reload()
  }, pollMs)
  await untilStopped(io, reload, stop)
  clearInterval(timer)
  // Says why the process stays, for as long as a call may take.
  setTimeout(() => {
    const calls = kept.served.underWay()
    if (calls > 0) io.err(`waiting for ${counted(calls, 'call')} under way; a second signal ends at once\n`)
  }, patienceMs).unref()
  await work
}

/** Waits for a signal that ends the process, or for `stop`. */
export async function untilStopped(io: Io, hangUp: () => void = () => undefined, stop?: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const off = io.onSignal((signal) => (signal === 'SIGHUP' ? hangUp() : resolve()))
  stop?.addEventListener('abort', () => resolve(), { once: true })
  await promise
  off()
}

/** Makes the new offer whole before it takes the place of the old one. Answers its settings, or says why it stays. */
async function offered(io: Io, { ambit, served, source }: Kept): Promise<Settings | undefined> {
  try {
    const next = await loadSettings({ ...source, fresh: true })
    await served.reload(next.hosting)
    const found = [
      counted(capabilitiesIn(served.current()), 'capability', 'capabilities'),
      counted(next.hosting.policies.length, 'policy', 'policies'),
    ]
    line(io, `reloaded: ${found.join(', ')}`)
    if (!isDeepStrictEqual(standing(next), standing(ambit.settings)))
      line(io, 'the address, the limits, the tenant, the store and the keys stay as they are until the next start')
    return next
  } catch (error) {
    const { detail, code } = problem(error)
    io.err(`not reloaded, what was offered before stays: ${plain(detail)} (${code})\n`)
    return undefined
  }
}

/** What a running host cannot change. */
const standing = ({ dataDir, keysDir, store, tenant, hosting }: Settings) => [
  ...[dataDir, keysDir, store, tenant],
  ...[hosting.port, hosting.hostname, hosting.limits],
]

const filesOf = ({ files, hosting }: Settings): readonly string[] => [...files, ...offerFilesOf(hosting)]

const stampsOf = (files: readonly string[]): ReadonlyMap<string, string> =>
  new Map(files.map((file) => [file, stampOf(file)]))

/** Changes with every writing of a file; looked at again and again, because editors replace files rather than write them. */
function stampOf(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false })
  return found === undefined ? 'gone' : `${found.ino} ${found.mtimeMs} ${found.size}`
}

/** How many capabilities of an offer can be called from outside runs. */
export const capabilitiesIn = ({ registry }: Offer): number => registry.all().filter(({ inRuns }) => !inRuns).length
