# The ids of runs, after the commands that take them.
function __iogauge_runs
    echo last
    iogauge history list 2>/dev/null | string match -r '^[0-9]{8}-[0-9]{6}-[0-9a-z]+'
end
complete -c iogauge -n '__fish_seen_subcommand_from report' -f -a '(__iogauge_runs)'
complete -c iogauge -n '__fish_seen_subcommand_from history; and __fish_seen_subcommand_from show label rm remove trend export' -f -a '(__iogauge_runs)'
