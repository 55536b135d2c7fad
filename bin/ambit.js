#!/usr/bin/env node
// Plain JavaScript that any Node can read, so that an old one gets a sentence instead of a stack.
const major = Number(process.versions.node.split('.')[0])
if (major < 24) {
  console.error(`ambit needs Node 24 or newer, this is ${process.version}: install a newer Node and run it again`)
  process.exitCode = 2
} else {
  await import('../dist/cli/main.js')
}
