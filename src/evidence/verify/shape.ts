import assert from 'node:assert/strict'
import { z } from 'zod'
import { isObject } from '../../base/object.ts'

type Test = (value: unknown) => boolean

/**
 * A predicate for exactly the JSON values the schema accepts, made when it is first asked. It builds nothing, so it is
 * several times faster than parsing: a bundle has many events of one shape. Where it says no, the schema says why.
 */
export function predicateOf<S extends z.ZodType>(schema: S): (value: unknown) => value is z.input<S> {
  let test: Test | undefined
  return (value): value is z.input<S> => {
    test ??= testOf(z.toJSONSchema(schema, { io: 'input' }))
    return test(value)
  }
}

type Node = z.core.JSONSchema.BaseSchema

function testOf(node: Node): Test {
  for (const keyword of Object.keys(node)) assert(known.has(keyword), `a schema with \`${keyword}\``)
  const values: ReadonlySet<unknown> = new Set(node.const === undefined ? node.enum : [node.const])
  if (node.anyOf) return anyOf(node.anyOf.map(testOf))
  if (values.size > 0) return (value) => values.has(value)
  if (Array.isArray(node.type)) return anyOf(node.type.map((type) => testOf({ ...node, type })))
  switch (node.type) {
    case undefined:
      return yes
    case 'object':
      return objectTest(node)
    case 'array':
      return arrayTest(node)
    case 'string':
      return textTest(node)
    case 'integer':
      return numberTest(node, Number.isSafeInteger)
    case 'number':
      return numberTest(node, Number.isFinite)
    case 'boolean':
      return (value) => typeof value === 'boolean'
    case 'null':
      return isNull
    default:
      return assert.fail(`a schema of type \`${node.type}\``)
  }
}

const known = new Set([
  ...['$schema', 'type', 'anyOf', 'const', 'enum', 'pattern', 'minLength', 'minimum', 'maximum', 'items', 'minItems'],
  ...['properties', 'required', 'additionalProperties', 'propertyNames'],
])

function anyOf(tests: readonly Test[]): Test {
  const [first, second, ...more] = tests
  // Nearly all are something or null.
  if (first !== undefined && second === isNull && more.length === 0) return (value) => value === null || first(value)
  return (value) => tests.some((test) => test(value))
}

function textTest({ pattern, minLength = 0 }: Node): Test {
  const regex = pattern === undefined ? undefined : new RegExp(pattern, 'u')
  return (value) => typeof value === 'string' && value.length >= minLength && (regex === undefined || regex.test(value))
}

function numberTest({ minimum = -Infinity, maximum = Infinity }: Node, kind: Test): Test {
  return (value) => kind(value) && minimum <= Number(value) && Number(value) <= maximum
}

function arrayTest({ items, minItems = 0 }: Node): Test {
  const item = testOf(items as Node)
  return (value) => Array.isArray(value) && value.length >= minItems && value.every(item)
}

function objectTest(node: Node): Test {
  const { propertyNames } = node
  assert(
    propertyNames === undefined || (typeof propertyNames === 'object' && Object.keys(propertyNames).join() === 'type'),
  )
  const required = new Set(node.required)
  const rest = node.additionalProperties === false ? no : testOf((node.additionalProperties ?? {}) as Node)
  const members = new Map<string, Member>()
  for (const [name, member] of Object.entries(node.properties ?? {}))
    members.set(name, { test: testOf(member as Node), counts: required.has(name) ? 1 : 0 })
  if (members.size === 0 && rest === yes) return isObject
  const other: Member = { test: rest, counts: 0 }
  return (value) => {
    if (!isObject(value)) return false
    let present = 0
    // Faster than a list of keys; what an object inherits counts as its own, and so cannot hide in a closed shape.
    for (const name in value) {
      const member = members.get(name) ?? other
      if (!member.test(value[name])) return false
      present += member.counts
    }
    return present === required.size
  }
}

interface Member {
  readonly test: Test
  /** 1 if it must be there. */
  readonly counts: number
}

const isNull: Test = (value) => value === null
const yes: Test = () => true
const no: Test = () => false
