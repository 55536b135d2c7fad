import assert from 'node:assert/strict'
import type { Signal } from '../../src/cli/terminal/io.ts'
import type { Ran, Shell } from './harness.ts'

/** Runs `host serve` in this process, without a key in its surroundings, until `work`, given its address, is done. */
export async function serving(
  shell: Shell,
  words: readonly string[],
  work: (url: string) => Promise<void>,
): Promise<Ran> {
  const listeners: ((signal: Signal) => void)[] = []
  const ready = Promise.withResolvers<string>()
  const onSignal = (listener: (signal: Signal) => void) => {
    listeners.push(listener)
    return () => undefined
  }
  const printed: string[] = []
  const ended = shell
    .with({
      env: {},
      onSignal,
      told: (text) => {
        printed.push(text)
        ready.resolve(text)
      },
    })
    .run('host', 'serve', '--port', '0', ...words)
  const first = await Promise.race([ready.promise, ended.then(({ err }) => assert.fail(err))])
  try {
    await work(/http:\S+/.exec(first.replace('",', ' '))?.[0] ?? assert.fail(first))
  } finally {
    for (const listener of listeners) listener('SIGTERM')
  }
  return ended
}
