import { operation } from './operation.ts'

export const identity = {
  principals: {
    create: operation('administer', 'Adds a person, service, agent or automation.', {
      route: 'POST /v1/principals',
      schemas: ['principal-request', 'principal'],
      args: ['id'],
    }),
    list: operation('audit', 'The principals of the tenant.', {
      route: 'GET /v1/principals',
      schemas: ['page-request', 'principal-list'],
    }),
    permit: operation('administer', 'Gives a principal a permission that capabilities may demand.', {
      route: 'POST /v1/principals/:id/permit',
      schemas: ['permission-request', 'principal'],
      args: ['id', 'permission'],
    }),
    withdraw: operation('administer', 'Takes a permission back from a principal.', {
      route: 'POST /v1/principals/:id/withdraw',
      schemas: ['permission-request', 'principal'],
      args: ['id', 'permission'],
    }),
    rotate: operation('administer', 'Gives the principal one new API key and ends all its others.', {
      route: 'POST /v1/principals/:id/rotate',
      schemas: ['principal-name', 'issued-key'],
    }),
    revoke: operation('administer', 'Ends a principal: none of its keys is accepted any more.', {
      route: 'POST /v1/principals/:id/revoke',
      schemas: ['principal-name', 'principal'],
    }),
  },
  keys: {
    create: operation('administer', 'Makes an API key for a principal. Its secret is in the answer and nowhere else.', {
      route: 'POST /v1/keys',
      schemas: ['key-request', 'issued-key'],
      args: ['principal'],
    }),
    list: operation('audit', 'The API keys of the tenant, never their secrets.', {
      route: 'GET /v1/keys',
      schemas: ['page-request', 'key-list'],
    }),
    rotate: operation('administer', 'Replaces an API key by a new one.', {
      route: 'POST /v1/keys/:id/rotate',
      schemas: ['key-rotation-request', 'issued-key'],
    }),
    revoke: operation('administer', 'Ends an API key at once.', {
      route: 'POST /v1/keys/:id/revoke',
      schemas: ['key-name', 'key-end'],
    }),
  },
  approvers: {
    add: operation('administer', 'Lets a person decide about calls that ask for one of these roles.', {
      route: 'POST /v1/approvers',
      schemas: ['approver-request', 'approver'],
      args: ['principal'],
    }),
    list: operation('audit', 'The approvers of the tenant.', {
      route: 'GET /v1/approvers',
      schemas: ['page-request', 'approver-list'],
    }),
    revoke: operation(
      'administer',
      'Ends an approver: this person decides about nothing, and earlier votes no longer count.',
      {
        route: 'POST /v1/approvers/:id/revoke',
        schemas: ['principal-name', 'approver-end'],
      },
    ),
  },
  secrets: {
    set: operation('administer', 'Keeps a secret, to be used by its handle.', {
      route: 'POST /v1/secrets',
      schemas: ['secret-request', 'kept-secret'],
      args: ['name', 'value'],
    }),
    list: operation('audit', 'The names of the secrets, never their values.', {
      route: 'GET /v1/secrets',
      schemas: ['no-input', 'secret-list'],
    }),
    remove: operation('administer', 'Forgets a secret.', {
      route: 'POST /v1/secrets/:name/remove',
      schemas: ['secret-name', 'secret-end'],
    }),
  },
  tenants: {
    identity: operation('public', 'The public identity document of a tenant: key, attestation and past rotations.', {
      route: 'GET /v1/tenants/:id/identity',
      schemas: ['tenant-name', 'identity-document'],
    }),
    rotate: operation('administer', 'Gives the tenant a new signing key; the old one vouches for it.', {
      route: 'POST /v1/tenants/:id/rotate',
      schemas: ['tenant-rotation-request', 'key-rotation'],
    }),
    revoke: operation('administer', 'Suspends a tenant: none of its keys opens anything.', {
      route: 'POST /v1/tenants/:id/revoke',
      schemas: ['tenant-name', 'tenant'],
    }),
    resume: operation('administer', 'Lets a suspended tenant work again.', {
      route: 'POST /v1/tenants/:id/resume',
      schemas: ['tenant-name', 'tenant'],
    }),
  },
}
