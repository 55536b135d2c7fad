// `ambit host serve` as a process of its own.

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { projectRoot } from '../support/source.ts'
import type { Shell } from './harness.ts'

export interface HostProcess {
  readonly url: string
  readonly process: ChildProcess
  /** Everything printed so far. */
  said(): string
  /** What of it is on standard error. */
  err(): string
  /** Waits until something like this was printed. */
  until(pattern: RegExp): Promise<void>
  /** The exit code, once it has ended. */
  readonly ended: Promise<number | null>
  call(capability: string, payload: object, key?: string, more?: object): Promise<Result>
}

export interface Result {
  readonly outcome: string
  readonly data: { readonly celsius: number }
}

/** `ambit host serve` as a process of its own, ready to be called. */
export async function startHost({ cwd }: Shell, ...words: readonly string[]): Promise<HostProcess> {
  const process_ = spawn(process.execPath, [join(projectRoot, 'src/cli/main.ts'), 'host', 'serve', ...words], {
    cwd,
    env: {},
  })
  onTestFinished(() => void process_.kill('SIGKILL'))
  let printed = ''
  let err = ''
  for (const stream of [process_.stdout, process_.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      printed += text
      if (stream === process_.stderr) err += text
    })
  const ended = new Promise<number | null>((resolve) => process_.on('exit', resolve))
  const until = async (pattern: RegExp) => {
    while (!pattern.test(printed)) {
      assert.equal(process_.exitCode, null, printed)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  await until(/^listening on .*\n/m)
  const [, url = ''] = /^listening on (\S+) as host/m.exec(printed) ?? assert.fail(printed)
  const call = async (capability_id: string, payload: object, key?: string, more?: object): Promise<Result> => {
    const headers = { 'content-type': 'application/json', ...(key !== undefined && { 'x-chp-key': key }) }
    const body = JSON.stringify({ capability_id, payload, ...more })
    return (await (await fetch(`${url}/invoke`, { method: 'POST', headers, body })).json()) as Result
  }
  return { url, process: process_, said: () => printed, err: () => err, until, ended, call }
}
