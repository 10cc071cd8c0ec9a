// Package access has the keys, sessions and principals by which people, gateways and operators enter.
package access
