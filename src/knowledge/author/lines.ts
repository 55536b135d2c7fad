/** The line of a place in a text, from 1; whatever ends the lines. They are looked for only when somebody asks. */
export function lineFinder(text: string): (offset: number) => number {
  let starts: readonly number[] | undefined
  return (offset) => {
    starts ??= lineStarts(text)
    let [low, high] = [0, starts.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((starts[middle] ?? 0) <= offset) low = middle + 1
      else high = middle
    }
    return low
  }
}

const lineStarts = (text: string): readonly number[] => [
  0,
  ...text.matchAll(/\r\n|[\n\r]/g).map(({ 0: end, index }) => index + end.length),
]
