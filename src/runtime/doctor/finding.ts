import { Failure } from '../../base/failure.ts'

export interface Finding {
  readonly check: string
  readonly verdict: 'ok' | 'warn' | 'fail'
  readonly message: string
  /** What to do about it; present unless all is well. */
  readonly help?: string
}

export const ok = (check: string, message: string): Finding => ({ check, verdict: 'ok', message })
const amiss =
  (verdict: 'warn' | 'fail') =>
  (check: string, message: string, help: string): Finding => ({ check, verdict, message, help })
export const warn = amiss('warn')
export const fail = amiss('fail')

/** The result of the work. A failure is yielded as a finding under its own noun, or always under this check. */
export async function* attempt<T>(
  check: string,
  work: () => Promise<T> | T,
  byNoun = true,
): AsyncGenerator<Finding, T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const [noun = ''] = error.code.split('.')
    const help = error.help ?? remedies[error.code] ?? remedies[noun] ?? 'put right what the message names'
    yield fail((byNoun && checks[noun]) || check, error.message, help)
    return undefined
  }
}

/** A failure to open the store may be about its keys, heads or secrets. */
const checks: Readonly<Record<string, string>> = { key: 'keys', head: 'heads', secret: 'secrets' }

/** For failures without a remedy of their own, by code or by noun. */
const remedies: Readonly<Record<string, string>> = {
  'key.permissions': 'make it readable by its owner only, then find out who could have read it',
  'key.locked': 'set the passphrase that it was made with',
  'key.not_found': 'restore the folder of keys: without it nothing can be signed',
  key: 'restore the folder of keys from where you keep a copy',
  capability: 'correct the capability; `ambit schema show capability-descriptor` says what it may hold',
  contract: 'correct the context contract; `ambit schema show context-contract` says what it may hold',
  policy: 'correct the policy; `ambit schema show policy` says what it may hold',
  secret: 'restore the folder of keys from where you keep a copy',
  field: 'correct the configuration; `ambit schema show config` says what it may hold',
}
