import type { Json } from '../base/canonical.ts'
import { Failure } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import type { FileRoot } from '../files/root.ts'
import type { Random } from './cipher.ts'
import { type FileKeys, fileKeys, fileKeysBytes, type Kdf, type Passphrase } from './passphrase.ts'
import {
  checkMac,
  Damage,
  fileBytes,
  fileMembers,
  listOf,
  membersOf,
  readPrivate,
  textOf,
  unlockFile,
} from './sealed-file.ts'

export interface SecretsFileDeps {
  readonly files: FileRoot
  readonly passphrase: Passphrase | undefined
  readonly random: Random
}

/** One secret as it lies in the file, its value encrypted. */
export interface SecretEntry {
  readonly tenant: string
  readonly name: string
  readonly createdAt: string
  readonly value: string
}

/** The file as read, with what it takes to use and to write it. */
export interface OpenSecrets {
  readonly entries: readonly SecretEntry[]
  readonly keys: FileKeys
  /** Null when the keys come from the master key file. */
  readonly kdf: Kdf | null
}

const version = 'ambit-secrets-v1'
const path = 'secrets.json'
const masterPath = 'secrets.master'

/** Undefined when nothing was ever kept. Fails with `key.locked`, `key.permissions`, or `secret.invalid` when changed. */
export async function readSecrets(deps: SecretsFileDeps): Promise<OpenSecrets | undefined> {
  const bytes = await readPrivate(deps.files, path, limits.secretsFileBytesMax)
  if (bytes === undefined) return undefined
  try {
    const members = fileMembers(bytes, version, limits.secretsFileBytesMax)
    const lock = await unlockFile(members, deps.passphrase, 'the file of secrets')
    const { keys, kdf } = lock ?? { keys: await masterKeys(deps), kdf: null }
    checkMac(members, keys.integrity)
    return { entries: listOf(members, 'entries').map(entryOf), keys, kdf }
  } catch (error) {
    if (!(error instanceof Damage)) throw error
    throw new Failure('secret.invalid', 'the file of secrets is damaged', {}, 'restore it from a backup')
  }
}

/** Keys for the first secret. A master key already there is kept: a crash may have come before the first file. */
export async function newSecrets(deps: SecretsFileDeps): Promise<OpenSecrets> {
  if (deps.passphrase !== undefined) return { entries: [], ...(await deps.passphrase.fresh()) }
  const keys = (await readMaster(deps.files)) ?? (await makeMaster(deps))
  return { entries: [], keys, kdf: null }
}

export async function writeSecrets(open: OpenSecrets, { files }: SecretsFileDeps): Promise<void> {
  const entries = open.entries.map(({ createdAt, ...entry }) => ({ ...entry, created_at: createdAt }))
  const bytes = fileBytes({ v: version, kdf: open.kdf && { ...open.kdf }, entries }, open.keys.integrity)
  if (bytes.length > limits.secretsFileBytesMax) throw new Failure('secret.invalid', 'the file of secrets is full')
  await files.write(path, bytes, { mode: 0o600 })
}

async function masterKeys({ files }: SecretsFileDeps): Promise<FileKeys> {
  const keys = await readMaster(files)
  if (keys === undefined) throw new Failure('key.not_found', `the secrets need their master key \`${masterPath}\``)
  return keys
}

async function readMaster(files: FileRoot): Promise<FileKeys | undefined> {
  const text = (await readPrivate(files, masterPath, limits.jsonBytesMax))?.toString()
  if (text === undefined) return undefined
  const bytes = Buffer.from(text, 'base64')
  if (bytes.length !== fileKeysBytes) throw new Failure('key.invalid', `the master key \`${masterPath}\` is damaged`)
  return fileKeys(bytes)
}

async function makeMaster({ files, random }: SecretsFileDeps): Promise<FileKeys> {
  const bytes = Buffer.from(random(fileKeysBytes))
  await files.write(masterPath, Buffer.from(`${bytes.toString('base64')}\n`), { mode: 0o600, exclusive: true })
  return fileKeys(bytes)
}

function entryOf(value: Json): SecretEntry {
  const entry = membersOf(value)
  const text = (member: string): string => textOf(entry, member)
  return { tenant: text('tenant'), name: text('name'), createdAt: text('created_at'), value: text('value') }
}
