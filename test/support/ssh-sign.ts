import { createHash } from 'node:crypto'
import type { Signer } from '../../src/base/ed25519.ts'

/** An armoured SSH signature over the message, in this namespace, as `ssh-keygen -Y sign` writes it. */
export function sshSign(signer: Signer, namespace: string, message: string): string {
  const digest = createHash('sha512').update(message).digest()
  const signed = Buffer.concat([magic, field(namespace), field(''), field('sha512'), field(digest)])
  const signature = Buffer.from(signer.sign(signed), 'base64')
  const key = keyBlob(Buffer.from(signer.publicKey, 'base64'))
  const fields = [key, namespace, '', 'sha512', keyBlob(signature)].map(field)
  const lines = Buffer.concat([magic, Buffer.of(0, 0, 0, 1), ...fields])
    .toString('base64')
    .replace(/(.{70})(?=.)/g, '$1\n')
  return `-----BEGIN SSH SIGNATURE-----\n${lines}\n-----END SSH SIGNATURE-----\n`
}

const magic = Buffer.from('SSHSIG')

const keyBlob = (bytes: Buffer): Buffer => Buffer.concat([field('ssh-ed25519'), field(bytes)])

/** Length-prefixed, as SSH writes them. */
function field(content: string | Buffer): Buffer {
  const bytes = Buffer.from(content)
  const length = Buffer.alloc(4)
  length.writeUInt32BE(bytes.length)
  return Buffer.concat([length, bytes])
}
