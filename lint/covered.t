#!/usr/bin/perl
# The manual's tables are those of the code: errors, states, events, kinds,
# settings, messages with all their fields, commands, options, and so is the
# sample of the configuration file. `make
# man-tables' brings the pages up to date.
use strict;
use warnings;
use Test::More;

my ($top, $build) = ($ENV{srcdir} // '.', $ENV{builddir} // '.');
my $program = "$build/man/tables";
my @names = split ' ', qx('$program');
ok(@names > 0, 'man/tables knows tables');
my %seen;
for my $page (glob "$top/man/*.[1-9]") {
	my $text = slurp($page);
	while ($text =~ /^\.\\" table (\S+)\n(.*?)^\.\\" end table$/gms) {
		my ($name, $table) = ($1, $2);
		$seen{$name} = 1;
		is($table, scalar qx('$program' '$name'),
		    "$name in " . ($page =~ s{.*/}{}r) . ' is as in the code');
	}
}
ok($seen{$_}, "table $_ is in a page") for @names;
is(slurp("$top/man/browsertaskd.conf.sample"),
    scalar qx('$program' --sample), 'the sample file is as the table');

# What no generated table describes must at least be named outside of them.
my %named = (
	'browsertask-launch.7' => [ slurp("$top/launch/launch.def")
	    =~ /^LAUNCH\((\w+), ON/gm ],
	'browsertask-store.5' => [ slurp("$top/storage/tables.def")
	    =~ /^TABLE\(\w+, "(\w+)"/gm ],
	'browsertask-templates.7' => [ map { "ctx:$_" } slurp(
	    "$top/workerd/prelude.lua") =~ /^function ctx:(\w+)/gm ],
);
for my $page (sort keys %named) {
	my $text = slurp("$top/man/$page")
	    =~ s/^\.\\" table .*?^\.\\" end table$//gmsr;
	my @missing = grep { $text !~ /(?<!\w)\Q$_\E(?!\w)/ }
	    @{$named{$page}};
	ok(@{$named{$page}} > 5, "$page: the code names things to describe");
	is("@missing", '', "$page names all of them");
}

# A template is in the list of its page, has a section there and a line in the
# README, and its text fits an array of char.
my @templates = slurp("$top/templates/builtin.c") =~ /^\t\{ "(\w+)",/gm;
my ($list) = slurp("$top/man/browsertask-templates.7") =~
    /compiled into the worker:\n(.*?)^\.Ss/ms;
ok(@templates > 5, 'templates/builtin.c names templates');
is("@{[ sort $list =~ /(\w+_\w+)/g ]}", "@{[ sort @templates ]}",
    'browsertask-templates.7 lists them all');
for my $id (@templates) {
	like(slurp("$top/man/browsertask-templates.7"), qr/^\.Sh \U$id\E$/m,
	    "$id has a section");
	like(slurp("$top/README.md"), qr/^\| `$id` \|/m,
	    "$id has a line in the README");
	unlike(slurp("$top/templates/$id.lua"), qr/[^\x00-\x7f]/,
	    "$id.lua is ASCII");
}
done_testing();

sub slurp {
	my ($file) = @_;
	open my $in, '<', $file or return '';
	local $/;
	return scalar <$in>;
}
