import { inspect } from 'node:util'
import { Failure, quote } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import { formatTime } from '../base/time.ts'
import type { FileRoot } from '../files/root.ts'
import type { TenantId } from '../model/identity/tenant-id.ts'
import { type SecretEntry, type SecretsFile, secretsFile } from '../model/sealed.ts'
import { decrypt, encrypt, type Random } from './cipher.ts'
import { type FileKeys, fileKeys, fileKeysBytes, type KeyFolder, type Passphrase, passphraseIn } from './passphrase.ts'
import { fileBytes, openFile, readPrivate } from './sealed-file.ts'

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

export function openSecrets(deps: KeyFolder): Secrets {
  const passphrase = passphraseIn(deps)
  const place = { files: deps.files, passphrase, random: deps.random }
  const change = (next: (open: OpenSecrets) => SecretEntry[]): Promise<void> =>
    deps.files.exclusive(async () => {
      const open = (await readSecrets(place)) ?? (await newSecrets(place))
      await writeSecrets(place.files, { ...open.file, entries: next(open) }, open.keys)
    })
  return Object.freeze<Secrets>({
    set: async (tenant, name, value) => {
      checkName(name)
      checkValue(value)
      const created_at = formatTime(deps.clock.now())
      await change(({ file, keys }) => {
        const kept = encrypt(keys.encryption, binds(tenant, name), Buffer.from(value), deps.random)
        return [...without(file, tenant, name), { tenant, name, created_at, value: kept }]
      })
    },
    list: async (tenant) =>
      ((await readSecrets(place))?.file.entries ?? [])
        .filter((entry) => entry.tenant === tenant)
        .map(({ name, created_at }) => ({ name, createdAt: created_at }))
        .sort((a, b) => (a.name < b.name ? -1 : 1)),
    remove: async (tenant, name) => {
      checkName(name)
      if ((await readSecrets(place)) === undefined) throw notFound(name)
      await change(({ file }) => {
        const left = without(file, tenant, name)
        if (left.length === file.entries.length) throw notFound(name)
        return left
      })
    },
    resolve: async (tenant, handle) => {
      const name = nameOf(handle)
      const value = reveal(await readSecrets(place), tenant, name)
      if (value === undefined) throw notFound(name, `keep it with \`ambit secret set ${name}\``)
      return secretValue(handle, value)
    },
  })
}

function reveal(open: OpenSecrets | undefined, tenant: TenantId, name: string): string | undefined {
  const entry = open?.file.entries.find((each) => each.tenant === tenant && each.name === name)
  if (open === undefined || entry === undefined) return undefined
  const value = decrypt(open.keys.encryption, binds(tenant, name), entry.value)
  if (value === undefined) throw new Failure('secret.invalid', `secret ${quote(name)} is damaged`, { name })
  return value.toString()
}

/** The file as read, with the keys that it is used and written with. */
interface OpenSecrets {
  readonly file: SecretsFile
  readonly keys: FileKeys
}

interface Place {
  readonly files: FileRoot
  readonly passphrase: Passphrase | undefined
  readonly random: Random
}

const version = 'ambit-secrets-v1'
const path = 'secrets.json'
const masterPath = 'secrets.master'

const form = {
  schema: secretsFile,
  bytesMax: limits.secretsFileBytesMax,
  subject: 'the file of secrets',
  damaged: () => new Failure('secret.invalid', 'the file of secrets is damaged', {}, 'restore it from a backup'),
}

/** Undefined when nothing was ever kept. Fails with `key.locked`, `key.permissions`, or `secret.invalid` when changed. */
async function readSecrets({ files, passphrase }: Place): Promise<OpenSecrets | undefined> {
  const bytes = await readPrivate(files, path, limits.secretsFileBytesMax)
  if (bytes === undefined) return undefined
  const { file, lock, checkMac } = await openFile(bytes, form, passphrase)
  const keys = lock?.keys ?? (await readMaster(files))
  if (keys === undefined) throw new Failure('key.not_found', `the secrets need their master key \`${masterPath}\``)
  checkMac(keys.integrity)
  return { file, keys }
}

/** Keys for the first secret. A master key already there is kept: a crash may have come before the first file. */
async function newSecrets({ files, passphrase, random }: Place): Promise<OpenSecrets> {
  const lock = await passphrase?.fresh()
  const keys = lock?.keys ?? (await readMaster(files)) ?? (await makeMaster(files, random))
  return { file: { v: version, kdf: lock?.kdf ?? null, entries: [] }, keys }
}

async function writeSecrets(files: FileRoot, file: SecretsFile, keys: FileKeys): Promise<void> {
  const bytes = fileBytes(file, keys.integrity)
  if (bytes.length > limits.secretsFileBytesMax) throw new Failure('secret.invalid', 'the file of secrets is full')
  await files.write(path, bytes, { mode: 0o600 })
}

async function readMaster(files: FileRoot): Promise<FileKeys | undefined> {
  const text = (await readPrivate(files, masterPath, limits.jsonBytesMax))?.toString()
  if (text === undefined) return undefined
  const bytes = Buffer.from(text, 'base64')
  if (bytes.length !== fileKeysBytes) throw new Failure('key.invalid', `the master key \`${masterPath}\` is damaged`)
  return fileKeys(bytes)
}

async function makeMaster(files: FileRoot, random: Random): Promise<FileKeys> {
  const bytes = Buffer.from(random(fileKeysBytes))
  await files.write(masterPath, Buffer.from(`${bytes.toString('base64')}\n`), { mode: 0o600, exclusive: true })
  return fileKeys(bytes)
}

const without = ({ entries }: SecretsFile, tenant: TenantId, name: string): SecretEntry[] =>
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
