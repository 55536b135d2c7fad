import { byCodePoint } from '../../src/base/canonical.ts'

/** What ordering looks at. */
export interface OrderedEvent {
  readonly event_id: string
  readonly host_id: string
  readonly invocation_id: string
  readonly timestamp: string
  readonly sequence?: number | undefined
  readonly correlation: { readonly causation_id?: string | null | undefined }
}

/**
 * One order of the events of several hosts that everyone arrives at: an event comes after those before it on its host
 * and after the beginning of what caused it; among those free to go, the smallest by time, host, sequence and id.
 * Causes that go round in a circle do not stop it.
 */
export function orderEvents<E extends OrderedEvent>(events: readonly E[]): E[] {
  const nodes = linked(events.toSorted(compare))
  const ready = nodes.filter((node) => node.waitsFor === 0)
  const order: E[] = []
  for (let stuck = 0; order.length < nodes.length; ) {
    while (nodes[stuck]?.done) stuck++
    const node = ready.shift() ?? nodes[stuck]
    if (node === undefined) break
    node.done = true
    order.push(node.event)
    for (const follower of node.followers) {
      follower.waitsFor--
      if (follower.waitsFor > 0 || follower.done) continue
      ready.splice(ready.findLastIndex((other) => other.rank < follower.rank) + 1, 0, follower)
    }
  }
  return order
}

interface Node<E> {
  readonly event: E
  /** Its place among all events, causes aside. */
  readonly rank: number
  readonly followers: Node<E>[]
  waitsFor: number
  done: boolean
}

function linked<E extends OrderedEvent>(sorted: readonly E[]): Node<E>[] {
  const nodes = sorted.map((event, rank): Node<E> => ({ event, rank, followers: [], waitsFor: 0, done: false }))
  for (const onHost of Map.groupBy(nodes, (node) => node.event.host_id).values()) {
    const rising = onHost.toSorted((a, b) => (a.event.sequence ?? 0) - (b.event.sequence ?? 0))
    for (const [index, node] of rising.entries()) link(rising[index - 1], node)
  }
  const starts = new Map(nodes.toReversed().map((node) => [node.event.invocation_id, node]))
  for (const node of nodes) link(starts.get(node.event.correlation.causation_id ?? ''), node)
  return nodes
}

function link<E>(before: Node<E> | undefined, after: Node<E>): void {
  if (before === undefined || before === after) return
  before.followers.push(after)
  after.waitsFor++
}

const compare = (a: OrderedEvent, b: OrderedEvent): number =>
  byCodePoint(a.timestamp, b.timestamp) ||
  byCodePoint(a.host_id, b.host_id) ||
  (a.sequence ?? 0) - (b.sequence ?? 0) ||
  byCodePoint(a.event_id, b.event_id)
