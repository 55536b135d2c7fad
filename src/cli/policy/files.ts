import { dirname, isAbsolute, join } from 'node:path'
import { Failure, quote } from '../../base/failure.ts'
import { wireCode } from '../../base/failure-codes.ts'
import { readJson } from '../../base/json.ts'
import { defined } from '../../base/object.ts'
import { capabilityDescriptor } from '../../model/capability.ts'
import { parseAs, problemsOf } from '../../model/parse.ts'
import { type Policy, policy } from '../../model/policy.ts'
import { type Contracts, checkAgainstContract, compilePolicies } from '../../policy/policies.ts'
import type { PolicyRef } from '../../policy/rule.ts'
import { readInput, readJsonInput } from '../terminal/files.ts'
import type { Io } from '../terminal/io.ts'

/** The policies in these files; one that does not load is refused with its file and place. */
export function readPolicies(io: Io, files: readonly string[]): readonly Policy[] {
  return files.map((file) => readPolicy(io, file))
}

function readPolicy(io: Io, file: string): Policy {
  const read = parseAs(policy, readJsonInput(io, file), quote(file))
  try {
    compilePolicies([read])
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const pointer = pointerIn(error)
    const at = pointer === undefined ? '' : `: ${quote(pointer)}`
    throw new Failure(error.code, `${quote(file)}${at} ${error.message}`, error.data, error.help)
  }
  return read
}

/** The policies a test file names by path from its own folder, or holds. */
export const policiesFor = (io: Io, file: string, named: readonly (string | Policy)[]): readonly Policy[] =>
  named.map((one) => (typeof one === 'string' ? readPolicy(io, isAbsolute(one) ? one : join(dirname(file), one)) : one))

interface FileProblem {
  readonly code: string
  readonly message: string
  readonly pointer?: string
  readonly help?: string
}

/** A policy by itself; `problems` is empty if it loads. */
export interface FileCheck extends Partial<PolicyRef> {
  readonly file: string
  readonly rules?: number
  readonly problems: readonly FileProblem[]
}

/** Each policy by itself, against the capabilities that are described, and then all of them together. */
export function checkFiles(io: Io, files: readonly string[], descriptors: readonly string[]): readonly FileCheck[] {
  const described = descriptors.map((file) => parseAs(capabilityDescriptor, readJsonInput(io, file), quote(file)))
  const contracts = new Map(described.map(({ id, metadata }) => [id, metadata?.context ?? null]))
  const good: Policy[] = []
  const checks = files.map((file) => checkFile(io, file, contracts, good))
  if (good.length < files.length) return checks
  try {
    compilePolicies(good, contracts)
    return checks
  } catch (error) {
    return [...checks, { file: descriptors.join(' '), problems: [problemIn(error)] }]
  }
}

function checkFile(io: Io, file: string, contracts: Contracts, before: Policy[]): FileCheck {
  const bytes = readInput(io, file)
  try {
    const json = readJson(bytes)
    const wrong = problemsOf(policy, json)
    if (wrong.length > 0)
      return { file, problems: wrong.map(({ code, ...rest }) => ({ code: wireCode(code), ...rest })) }
    const read = parseAs(policy, json, 'policy')
    const [ref] = compilePolicies([read]).policies
    checkAgainstContract(read, contracts)
    compilePolicies([...before, read])
    before.push(read)
    return { file, ...ref, rules: read.rules.length, problems: [] }
  } catch (error) {
    return { file, problems: [problemIn(error)] }
  }
}

/** What is wrong with the text of a policy; anything else goes on its way. */
function problemIn(error: unknown): FileProblem {
  if (!(error instanceof Failure)) throw error
  const { code, message, help } = error
  return defined({ code: wireCode(code), message, pointer: pointerIn(error), help })
}

const pointerIn = ({ data }: Failure): string | undefined =>
  typeof data['pointer'] === 'string' ? data['pointer'] : undefined
