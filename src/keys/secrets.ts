import { inspect } from 'node:util'
import { Failure, quote } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import { type Clock, formatTime } from '../base/time.ts'
import type { FileRoot } from '../files/root.ts'
import type { TenantId } from '../model/identity/tenant-id.ts'
import { decrypt, encrypt, type Random } from './cipher.ts'
import { passphraseOf } from './passphrase.ts'
import { newSecrets, type OpenSecrets, readSecrets, type SecretEntry, writeSecrets } from './secrets-file.ts'

export interface SecretsDeps {
  readonly files: FileRoot
  /** With one, the store opens only with it; without, a master key lies beside it in a file of its own. */
  readonly passphrase?: string
  readonly clock: Clock
  readonly random: Random
}

/** A secret that prints only its handle; `reveal` gives the value, where it is used. */
export interface SecretValue {
  /** `secret:NAME` */
  readonly handle: string
  reveal(): string
}

export function secretValue(handle: string, value: string): SecretValue {
  const show = (): string => handle
  return Object.freeze({ handle, reveal: () => value, toString: show, toJSON: show, [inspect.custom]: show })
}

/** The encrypted secrets of all tenants. */
export interface Secrets {
  /** Keeps the value, in place of an earlier one of that name. */
  set(tenant: TenantId, name: string, value: string): Promise<void>
  /** In the order of the names, with nothing derived from the values. */
  list(tenant: TenantId): Promise<readonly { readonly name: string; readonly createdAt: string }[]>
  /** Fails with `secret.not_found`. */
  remove(tenant: TenantId, name: string): Promise<void>
  /** The secret behind `secret:NAME`; fails with `secret.not_found`. */
  resolve(tenant: TenantId, handle: string): Promise<SecretValue>
}

export function openSecrets(deps: SecretsDeps): Secrets {
  const passphrase = deps.passphrase === undefined ? undefined : passphraseOf(deps.passphrase, deps.random)
  const file = { files: deps.files, passphrase, random: deps.random }
  const change = (next: (open: OpenSecrets) => readonly SecretEntry[]): Promise<void> =>
    deps.files.exclusive(async () => {
      const open = (await readSecrets(file)) ?? (await newSecrets(file))
      await writeSecrets({ ...open, entries: next(open) }, file)
    })
  return Object.freeze<Secrets>({
    set: async (tenant, name, value) => {
      checkName(name)
      checkValue(value)
      const createdAt = formatTime(deps.clock.now())
      await change(({ entries, keys }) => {
        const kept = encrypt(keys.encryption, binds(tenant, name), Buffer.from(value), deps.random)
        return [...without(entries, tenant, name), { tenant, name, createdAt, value: kept }]
      })
    },
    list: async (tenant) =>
      ((await readSecrets(file))?.entries ?? [])
        .filter((entry) => entry.tenant === tenant)
        .map(({ name, createdAt }) => ({ name, createdAt }))
        .sort((a, b) => (a.name < b.name ? -1 : 1)),
    remove: async (tenant, name) => {
      checkName(name)
      if ((await readSecrets(file)) === undefined) throw notFound(name)
      await change(({ entries }) => {
        const left = without(entries, tenant, name)
        if (left.length === entries.length) throw notFound(name)
        return left
      })
    },
    resolve: async (tenant, handle) => {
      const name = nameOf(handle)
      const value = reveal(await readSecrets(file), tenant, name)
      if (value === undefined) throw notFound(name, `keep it with \`ambit secret set ${name}\``)
      return secretValue(handle, value)
    },
  })
}

function reveal(open: OpenSecrets | undefined, tenant: TenantId, name: string): string | undefined {
  const entry = open?.entries.find((each) => each.tenant === tenant && each.name === name)
  if (open === undefined || entry === undefined) return undefined
  const value = decrypt(open.keys.encryption, binds(tenant, name), entry.value)
  if (value === undefined) throw new Failure('secret.invalid', `secret ${quote(name)} is damaged`, { name })
  return value.toString()
}

const without = (entries: readonly SecretEntry[], tenant: TenantId, name: string): readonly SecretEntry[] =>
  entries.filter((entry) => entry.tenant !== tenant || entry.name !== name)

const binds = (tenant: TenantId, name: string): string[] => ['ambit-secret-v1', tenant, name]

const namePattern = /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/
const prefix = 'secret:'

// What was given is not repeated in a refusal: it may be the secret itself, given in the wrong place.
function nameOf(handle: string): string {
  const name = handle.slice(prefix.length)
  if (handle.startsWith(prefix) && namePattern.test(name)) return name
  throw new Failure('secret.invalid', 'this is not a handle of a secret', {}, 'write `secret:` and the name')
}

function checkName(name: string): void {
  if (namePattern.test(name)) return
  const help = 'use a letter, then at most 63 letters, digits and _ . -'
  throw new Failure('secret.invalid', 'the name of the secret is not valid', {}, help)
}

function checkValue(value: string): void {
  const bytes = Buffer.byteLength(value)
  if (bytes >= 1 && bytes <= limits.secretBytesMax && value.isWellFormed()) return
  const message = `the value of a secret is text of 1 to ${limits.secretBytesMax} bytes`
  throw new Failure('secret.invalid', message)
}

const notFound = (name: string, help?: string): Failure =>
  new Failure('secret.not_found', `there is no secret ${quote(name)}`, { name }, help)
