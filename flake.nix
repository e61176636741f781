{
  description = "Makes any AI coding agent session undoable";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs =
    { self, nixpkgs }:
    let
      systems = [
        "x86_64-linux"
        "aarch64-linux"
      ];
      each = make: nixpkgs.lib.genAttrs systems (system: make nixpkgs.legacyPackages.${system});
      manifest = (nixpkgs.lib.importTOML ./Cargo.toml).package;
    in
    {
      packages = each (pkgs: {
        default = pkgs.rustPlatform.buildRustPackage {
          pname = manifest.name;
          version = manifest.version;
          src = self;
          cargoLock.lockFile = ./Cargo.lock;
          JACKIN_COMMIT = self.rev or "";
          nativeBuildInputs = [ pkgs.installShellFiles ];
          # The tests need mounts, containers and other users, which the sandbox of a build refuses; .ci/run runs them.
          doCheck = false;
          postInstall = ''
            ln -sf jackin $out/bin/jackin-recovery
            installManPage man/*.1 man/*.5
            installShellCompletion --bash completions/*.bash
            installShellCompletion --zsh completions/_jackin completions/_jackin-recovery
            installShellCompletion --fish completions/*.fish
          '';
          meta = {
            inherit (manifest) description homepage;
            license = nixpkgs.lib.licenses.asl20;
            mainProgram = "jackin";
            platforms = systems;
          };
        };
      });

      devShells = each (pkgs: {
        default = pkgs.mkShell {
          packages = [
            pkgs.cargo
            pkgs.clippy
            pkgs.rustc
            pkgs.rustfmt
          ];
        };
      });
    };
}
