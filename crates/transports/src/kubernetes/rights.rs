//! Rights of the operator in a namespace: all of them in one answer, or each by itself where the cluster cannot list them.

use serde_json::{Value, json};

use super::{Kubectl, asked, place, text};

impl Kubectl<'_> {
    /// Returns for each verb and resource whether the operator may use it.
    ///
    /// # Errors
    /// Why it cannot be asked.
    pub(super) fn rights(&self, wanted: &[(&str, &str)]) -> Result<Vec<bool>, String> {
        if let Some(rules) = self.rules() {
            let granted = wanted.iter();
            return Ok(granted
                .map(|(verb, resource)| grant(&rules, verb, resource))
                .collect());
        }
        wanted
            .iter()
            .map(|(verb, resource)| self.may(verb, resource))
            .collect()
    }

    /// Returns the rules that apply to the operator; `None` if the cluster does not list all of them.
    fn rules(&self) -> Option<Vec<Value>> {
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectRulesReview",
            "spec": { "namespace": self.spot.namespace },
        });
        let told = self
            .ask(
                &["create", "-f", "-", "-o", "json"],
                Some(review.to_string().into_bytes()),
            )
            .ok()?;
        let told: Value = serde_json::from_str(&told).ok()?;
        let is_whole = told.pointer("/status/incomplete") == Some(&Value::Bool(false));
        let is_fine = text(&told, "/status/evaluationError")
            .unwrap_or_default()
            .is_empty();
        let rules = told.pointer("/status/resourceRules")?.as_array()?;
        (is_whole && is_fine).then(|| rules.clone())
    }

    /// Returns true if the operator may use a verb on a resource.
    pub(super) fn may(&self, verb: &str, resource: &str) -> Result<bool, String> {
        let (what, part) = resource.split_once('/').unwrap_or((resource, ""));
        let (place, part) = (place(self.spot), format!("--subresource={part}"));
        let words = ["auth", "can-i", verb, what, &part];
        let words: Vec<&str> = place.iter().map(String::as_str).chain(words).collect();
        let told = asked(self.program, self.path).run(&words, None)?;
        // It says no by failing.
        match told.out.trim() {
            "yes" => Ok(true),
            out if out.starts_with("no") => Ok(false),
            _ => Err(told.complaint.unwrap_or_else(|| "it does not say".to_owned())),
        }
    }
}

/// Returns true if one of the rules grants a verb on a resource, written as `NAME[.GROUP][/PART]`.
fn grant(rules: &[Value], verb: &str, resource: &str) -> bool {
    let (what, part) = resource.split_once('/').unwrap_or((resource, ""));
    let (name, group) = what.split_once('.').unwrap_or((what, ""));
    let names = match part {
        "" => vec![name.to_owned()],
        part => vec![format!("{name}/{part}"), format!("*/{part}")],
    };
    let lists = |rule: &Value, key: &str, wanted: &dyn Fn(&str) -> bool| {
        let all = rule.get(key).and_then(Value::as_array);
        all.into_iter().flatten().filter_map(Value::as_str).any(wanted)
    };
    rules.iter().any(|rule| {
        // A rule for some names does not grant it for the others.
        !lists(rule, "resourceNames", &|_| true)
            && lists(rule, "verbs", &|one| one == "*" || one == verb)
            && lists(rule, "apiGroups", &|one| one == "*" || one == group)
            && lists(rule, "resources", &|one| {
                one == "*" || names.iter().any(|name| name == one)
            })
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::grant;

    #[test]
    fn a_rule_grants_what_it_lists_and_nothing_more() {
        let rule = |verbs, groups, resources| json!({ "verbs": [verbs], "apiGroups": [groups], "resources": [resources] });
        let snapshots = "volumesnapshots.snapshot.storage.k8s.io";
        let cases = [
            (rule("create", "", "pods"), "create", "pods", true),
            (rule("create", "", "pods"), "create", "pods/exec", false),
            (rule("create", "", "pods"), "delete", "pods", false),
            (rule("create", "", "pods/exec"), "create", "pods/exec", true),
            (rule("create", "", "pods/exec"), "create", "pods", false),
            (rule("*", "*", "*"), "create", "pods/exec", true),
            (rule("*", "", "*/exec"), "create", "pods/exec", true),
            (rule("*", "", "*"), "create", snapshots, false),
            (
                rule("get", "snapshot.storage.k8s.io", "volumesnapshots"),
                "get",
                snapshots,
                true,
            ),
            (rule("get", "apps", "pods"), "get", "pods", false),
        ];
        for (rule, verb, resource, granted) in cases {
            assert_eq!(
                grant(std::slice::from_ref(&rule), verb, resource),
                granted,
                "{rule}: {verb} {resource}"
            );
        }
        let mut named = rule("create", "", "pods");
        named["resourceNames"] = json!(["one"]);
        assert!(!grant(&[named], "create", "pods"));
    }
}
