//! Users of the sandbox, from `/etc/passwd` and `/etc/group`. (The C library's lookup does not work in a static binary.)

use crate::refusal::Refusal;

/// Whom a program runs as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) groups: Vec<u32>,
    pub(crate) home: String,
}

impl User {
    pub(crate) fn root() -> Self {
        Self { name: "root".into(), uid: 0, gid: 0, groups: vec![0], home: "/root".into() }
    }

    /// Finds a user by name or uid.
    ///
    /// # Errors
    /// If there is no user of that name. A uid needs no entry.
    pub(crate) fn find(wanted: &str) -> Result<Self, Refusal> {
        let passwd = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        let group = std::fs::read_to_string("/etc/group").unwrap_or_default();
        lookup(wanted, &passwd, &group)
    }
}

fn lookup(wanted: &str, passwd: &str, group: &str) -> Result<User, Refusal> {
    let number = wanted.parse::<u32>().ok().filter(|uid| *uid != u32::MAX);
    let entry = passwd.lines().filter_map(parse_entry).find(|user| user.name == wanted || Some(user.uid) == number);
    let mut user = match (entry, number) {
        (Some(user), _) => user,
        (None, Some(0)) => User::root(),
        (None, Some(uid)) => User { name: wanted.into(), uid, gid: uid, groups: Vec::new(), home: "/".into() },
        (None, None) => {
            return Err(Refusal::bad_request(format!("no such user in the sandbox: `{}`", wanted.escape_debug())));
        }
    };
    user.groups = groups_of(&user, group);
    Ok(user)
}

fn parse_entry(line: &str) -> Option<User> {
    let mut fields = line.split(':');
    let name = fields.next()?.to_string();
    let (uid, gid) = (fields.nth(1)?.parse().ok()?, fields.next()?.parse().ok()?);
    let home = fields.nth(1).filter(|home| home.starts_with('/')).unwrap_or("/").to_string();
    Some(User { name, uid, gid, groups: Vec::new(), home })
}

fn groups_of(user: &User, group: &str) -> Vec<u32> {
    let mut groups = vec![user.gid];
    for line in group.lines() {
        let fields: Vec<&str> = line.split(':').collect();
        let &[_, _, gid, members] = fields.as_slice() else { continue };
        if let Ok(gid) = gid.parse()
            && members.split(',').any(|member| member == user.name)
            && !groups.contains(&gid)
        {
            groups.push(gid);
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWD: &str = "root:x:0:0:root:/root:/bin/bash\nbroken\nana:x:1000:1001:,,,:/home/ana:/bin/sh\n";
    const GROUP: &str = "root:x:0:\nadm:x:4:bob,ana\nana:x:1001:ana\n";

    #[test]
    fn users_are_found_by_name_and_uid() {
        let ana = User { name: "ana".into(), uid: 1000, gid: 1001, groups: vec![1001, 4], home: "/home/ana".into() };
        assert_eq!(lookup("ana", PASSWD, GROUP).unwrap(), ana);
        assert_eq!(lookup("1000", PASSWD, GROUP).unwrap(), ana);
        assert_eq!(lookup("0", "", "").unwrap(), User::root());
        assert_eq!(lookup("77", PASSWD, GROUP).unwrap().gid, 77);
        for unknown in ["bob", "", "-1", "4294967295", "ana:x"] {
            assert!(lookup(unknown, PASSWD, GROUP).is_err(), "{unknown:?}");
        }
    }
}
