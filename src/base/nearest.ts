const charsMax = 128
const namesMax = 500
const lettersMax = 4

/** The name that was likely meant: the first that differs in the fewest letters, if in no more than a third, and in few. */
export function nearest(written: string, names: readonly string[]): string | undefined {
  if (written.length > charsMax) return undefined
  const allowed = Math.min(lettersMax, Math.floor((written.length + 1) / 3))
  const near = names
    .filter((name) => Math.abs(name.length - written.length) <= allowed)
    .slice(0, namesMax)
    .map((name) => ({ name, apart: distance(written, name) }))
    .filter(({ apart }) => apart <= allowed)
  return near.toSorted((a, b) => a.apart - b.apart)[0]?.name
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
