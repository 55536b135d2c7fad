import { operation } from './operation.ts'

export const identity = {
  principals: {
    create: operation('administer', 'Adds a person, service, agent or automation.', {
      route: 'POST /v1/principals',
      input: 'principal-request',
      output: 'principal',
      args: ['id'],
    }),
    list: operation('audit', 'The principals of the tenant.', {
      route: 'GET /v1/principals',
      input: 'page-request',
      output: 'principal-list',
    }),
    permit: operation('administer', 'Gives a principal a permission that capabilities may demand.', {
      route: 'POST /v1/principals/:id/permit',
      input: 'permission-request',
      output: 'principal',
      args: ['id', 'permission'],
    }),
    withdraw: operation('administer', 'Takes a permission back from a principal.', {
      route: 'POST /v1/principals/:id/withdraw',
      input: 'permission-request',
      output: 'principal',
      args: ['id', 'permission'],
    }),
    rotate: operation('administer', 'Gives the principal one new API key and ends all its others.', {
      route: 'POST /v1/principals/:id/rotate',
      input: 'principal-name',
      output: 'issued-key',
    }),
    revoke: operation('administer', 'Ends a principal: none of its keys is accepted any more.', {
      route: 'POST /v1/principals/:id/revoke',
      input: 'principal-name',
      output: 'principal',
    }),
  },
  keys: {
    create: operation('administer', 'Makes an API key for a principal. Its secret is in the answer and nowhere else.', {
      route: 'POST /v1/keys',
      input: 'key-request',
      output: 'issued-key',
      args: ['principal'],
    }),
    list: operation('audit', 'The API keys of the tenant, never their secrets.', {
      route: 'GET /v1/keys',
      input: 'page-request',
      output: 'key-list',
    }),
    rotate: operation('administer', 'Replaces an API key by a new one.', {
      route: 'POST /v1/keys/:id/rotate',
      input: 'key-rotation-request',
      output: 'issued-key',
    }),
    revoke: operation('administer', 'Ends an API key at once.', {
      route: 'POST /v1/keys/:id/revoke',
      input: 'key-name',
      output: 'key-end',
    }),
  },
  approvers: {
    add: operation('administer', 'Lets a person decide about calls that ask for one of these roles.', {
      route: 'POST /v1/approvers',
      input: 'approver-request',
      output: 'approver',
      args: ['principal'],
    }),
    list: operation('audit', 'The approvers of the tenant.', {
      route: 'GET /v1/approvers',
      input: 'page-request',
      output: 'approver-list',
    }),
    revoke: operation(
      'administer',
      'Ends an approver: this person decides about nothing, and earlier votes no longer count.',
      {
        route: 'POST /v1/approvers/:id/revoke',
        input: 'principal-name',
        output: 'approver-end',
      },
    ),
  },
  secrets: {
    set: operation('administer', 'Keeps a secret, to be used by its handle.', {
      route: 'POST /v1/secrets',
      input: 'secret-request',
      output: 'kept-secret',
      args: ['name', 'value'],
    }),
    list: operation('audit', 'The names of the secrets, never their values.', {
      route: 'GET /v1/secrets',
      input: 'no-input',
      output: 'secret-list',
    }),
    remove: operation('administer', 'Forgets a secret.', {
      route: 'POST /v1/secrets/:name/remove',
      input: 'secret-name',
      output: 'secret-end',
    }),
  },
  tenants: {
    identity: operation('public', 'The public identity document of a tenant: key, attestation and past rotations.', {
      route: 'GET /v1/tenants/:id/identity',
      input: 'tenant-name',
      output: 'identity-document',
    }),
    rotate: operation('administer', 'Gives the tenant a new signing key; the old one vouches for it.', {
      route: 'POST /v1/tenants/:id/rotate',
      input: 'tenant-rotation-request',
      output: 'key-rotation',
    }),
    revoke: operation('administer', 'Suspends a tenant: none of its keys opens anything.', {
      route: 'POST /v1/tenants/:id/revoke',
      input: 'tenant-name',
      output: 'tenant',
    }),
    resume: operation('administer', 'Lets a suspended tenant work again.', {
      route: 'POST /v1/tenants/:id/resume',
      input: 'tenant-name',
      output: 'tenant',
    }),
  },
}
