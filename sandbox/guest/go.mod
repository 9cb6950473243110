module tipstaff/guest

go 1.24
