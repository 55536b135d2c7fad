interface Node {
  readonly next: Map<number, Node>
  /** The word that ends here; empty if none does. */
  word: string
  /** Where the longest other beginning of a word leads that also ends here. */
  fallback: Node | undefined
  /** The next shorter word that also ends here. */
  shorter: Node | undefined
}

/** Told of a word in a text; the shorter ones with the same end are told only if it answers false. */
type Found = (word: string, end: number) => boolean

/** Looks for many words in one pass over the text (Aho and Corasick): no words and no text make it slow. */
export function wordFinder(words: Iterable<string>): (text: string, found: Found) => void {
  const root = trieOf(words)
  return (text, found) => {
    let at = root
    for (let index = 0; index < text.length; index++) {
      at = step(at, text.charCodeAt(index), root)
      for (let node = endOfWord(at); node !== undefined; node = node.shorter) if (found(node.word, index + 1)) break
    }
  }
}

function trieOf(words: Iterable<string>): Node {
  const root = newNode()
  for (const word of words) {
    let at = root
    for (let index = 0; index < word.length; index++) {
      const unit = word.charCodeAt(index)
      const next = at.next.get(unit) ?? newNode()
      at.next.set(unit, next)
      at = next
    }
    at.word = word
  }
  link(root)
  return root
}

const newNode = (): Node => ({ next: new Map(), word: '', fallback: undefined, shorter: undefined })

function link(root: Node): void {
  const queue = [root]
  // Level by level: a fallback is always nearer to the root, and so linked already.
  for (const node of queue)
    for (const [unit, child] of node.next) {
      const fallback = step(node.fallback, unit, root)
      child.fallback = fallback
      child.shorter = endOfWord(fallback)
      queue.push(child)
    }
}

const endOfWord = (node: Node): Node | undefined => (node.word === '' ? node.shorter : node)

function step(from: Node | undefined, unit: number, root: Node): Node {
  for (let at = from; at !== undefined; at = at.fallback) {
    const next = at.next.get(unit)
    if (next !== undefined) return next
  }
  return root
}
