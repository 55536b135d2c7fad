import { canonical, type Json } from '../base/canonical.ts'
import { keyedDigest } from '../base/hash.ts'
import { readJson } from '../base/json.ts'
import { type Kdf, kdfName } from './passphrase.ts'

export type Members = { readonly [name: string]: Json | undefined }

/** A file of ours is not as we write it; whoever reads it says whose it was. */
export class Damage extends Error {}

/** The members of a file of this version; its `mac` is for `checkMac`. */
export function fileMembers(bytes: Buffer, version: string, bytesMax: number): Members {
  let value: Json
  try {
    value = readJson(bytes, { bytesMax })
  } catch {
    throw new Damage()
  }
  const members = membersOf(value)
  if (members['v'] !== version) throw new Damage()
  return members
}

/** The file as bytes, its members under a `mac`: no change of any of them goes unseen. */
export function fileBytes(members: Members, key: Uint8Array): Buffer {
  return Buffer.from(`${JSON.stringify({ ...members, mac: macOf(members, key) }, null, 2)}\n`)
}

export function checkMac({ mac, ...members }: Members, key: Uint8Array): void {
  if (mac !== macOf(members, key)) throw new Damage()
}

const macOf = (members: Members, key: Uint8Array): string => keyedDigest(key, ['ambit-file-v1', canonical(members)])

export function membersOf(value: Json | undefined): Members {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Damage()
  return value as Members
}

export function textOf(members: Members, name: string): string {
  const value = members[name]
  if (typeof value !== 'string') throw new Damage()
  return value
}

export function listOf(members: Members, name: string): readonly Json[] {
  const value = members[name]
  if (!Array.isArray(value)) throw new Damage()
  return value
}

/** How the file is locked; undefined when it is not. */
export function kdfOf(members: Members): Kdf | undefined {
  if (members['kdf'] === null) return undefined
  const kdf = membersOf(members['kdf'])
  if (kdf['name'] !== kdfName) throw new Damage()
  return { name: kdfName, salt: textOf(kdf, 'salt'), check: textOf(kdf, 'check') }
}
