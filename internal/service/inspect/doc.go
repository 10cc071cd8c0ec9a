// Package inspect reads runs, conversations and workspaces for users and programs.
package inspect
