// A certificate that vouches for itself, made anew for each test, so that no private key lies in the repository.

import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'

/** Valid for `localhost` and 127.0.0.1, signed with its own key. */
export function selfSigned(): { readonly key: string; readonly cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const cert = certificate(publicKey, (bytes) => sign('sha256', bytes, privateKey))
  const body = cert.toString('base64').replace(/.{64}/g, '$&\n')
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${body}\n-----END CERTIFICATE-----\n`,
  }
}

function certificate(publicKey: KeyObject, signed: (bytes: Buffer) => Buffer): Buffer {
  const algorithm = der(0x30, oid('2a8648ce3d040302'))
  const name = der(0x30, der(0x31, der(0x30, oid('550403'), der(0x0c, Buffer.from('localhost')))))
  const time = (text: string) => der(0x17, Buffer.from(text))
  const names = der(0x30, der(0x82, Buffer.from('localhost')), der(0x87, Buffer.from([127, 0, 0, 1])))
  const extensions = der(
    0x30,
    der(0x30, oid('551d13'), der(0x01, Buffer.from([0xff])), der(0x04, der(0x30, der(0x01, Buffer.from([0xff]))))),
    der(0x30, oid('551d11'), der(0x04, names)),
  )
  const content = der(
    0x30,
    ...[der(0xa0, der(0x02, Buffer.from([2]))), der(0x02, Buffer.from([1])), algorithm, name],
    ...[der(0x30, time('200101000000Z'), time('491231235959Z')), name],
    ...[publicKey.export({ type: 'spki', format: 'der' }), der(0xa3, extensions)],
  )
  return der(0x30, content, algorithm, der(0x03, Buffer.from([0]), signed(content)))
}

const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'))

/** One element of DER: its tag, its length, its content. */
function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const size = content.length
  const length = size < 128 ? [size] : size < 256 ? [0x81, size] : [0x82, size >> 8, size & 255]
  return Buffer.concat([Buffer.from([tag, ...length]), content])
}
