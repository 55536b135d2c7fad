const charsMax = 32
const namesMax = 500

/** The name that was likely meant: the first that differs in the fewest letters, if in no more than a third of them. */
export function nearestName(written: string, names: readonly string[]): string | undefined {
  if (written.length > charsMax) return undefined
  const allowed = Math.floor((written.length + 1) / 3)
  const near = names
    .filter((name) => Math.abs(name.length - written.length) <= allowed)
    .slice(0, namesMax)
    .map((name) => ({ name, distance: distanceOf(written, name) }))
    .filter(({ distance }) => distance <= allowed)
  return near.toSorted((a, b) => a.distance - b.distance)[0]?.name
}

/** How many letters have to be put in, left out or changed. */
function distanceOf(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, at) => at)
  for (const [line, char] of Array.from({ length: from.length }, (_, at) => from[at]).entries()) {
    const next = [line + 1]
    for (let at = 0; at < to.length; at++)
      next.push(Math.min((row[at] ?? 0) + (char === to[at] ? 0 : 1), (row[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1))
    row = next
  }
  return row.at(-1) ?? 0
}
