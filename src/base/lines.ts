const lineFeed = 10
const piecesMax = 1_024

/** Cuts what comes in pieces into lines. A line of more than `bytesMax` fails as soon as so much of it is there. */
export function lineCutter(bytesMax: number): (chunk: Buffer) => readonly string[] {
  let begun: Buffer[] = []
  let size = 0
  const add = (part: Buffer): void => {
    size += part.length
    if (size > bytesMax) throw new RangeError('a line is too long')
    begun.push(part)
    // A piece costs far more than its bytes: a sender of single bytes must not get a piece for each.
    if (begun.length > piecesMax) begun = [Buffer.concat(begun)]
  }
  const ended = (): string => {
    // What comes in one piece, as most of it does, needs no copy.
    const line = begun.length === 1 ? (begun[0] as Buffer) : Buffer.concat(begun)
    begun = []
    size = 0
    return line.toString()
  }
  return (chunk) => {
    const lines: string[] = []
    let from = 0
    for (let end = chunk.indexOf(lineFeed); end !== -1; end = chunk.indexOf(lineFeed, from)) {
      add(chunk.subarray(from, end))
      lines.push(ended())
      from = end + 1
    }
    if (from < chunk.length) add(chunk.subarray(from))
    return lines
  }
}

/** Ends a line of a file that a crash has torn, where the writer went on: readers tell it from a line that was changed. */
export const tornMark = '#torn'
