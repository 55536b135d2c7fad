import type { Failure } from '../base/failure.ts'

/** All bytes of a stream. Of one that has more than that the rest stays unread, and it fails with `tooLarge`. */
export async function collect(
  stream: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  bytesMax: number,
  tooLarge: () => Failure,
): Promise<Buffer> {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of stream) {
    size += part.byteLength
    if (size > bytesMax) throw tooLarge()
    parts.push(part)
  }
  return Buffer.concat(parts)
}
