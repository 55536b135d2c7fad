/** The name that this word was most likely meant to be: few letters differ. Undefined where none is like it. */
export function nearest(word: string, names: readonly string[]): string | undefined {
  const most = Math.max(1, Math.floor(word.length / 4))
  const [best] = names
    .map((name) => ({ name, apart: distance(word, name) }))
    .filter(({ apart }) => apart <= most)
    .sort((a, b) => a.apart - b.apart)
  return best?.name
}

/** How many letters must be put in, taken out or changed to make one text of the other. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const changed = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(changed, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[b.length] ?? 0
}
