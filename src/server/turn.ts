/**
 * Waits until every request has been read that is there to be read. Those then go on together, and the store writes for
 * all of them at once: without it an embedded database would write for the first while the others wait to be read.
 */
export function gathering(): () => Promise<void> {
  let turn: Promise<void> | undefined
  return () => {
    turn ??= new Promise((resolve) =>
      setImmediate(() => {
        turn = undefined
        resolve()
      }),
    )
    return turn
  }
}
